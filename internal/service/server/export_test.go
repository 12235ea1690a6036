package server

import "context"

// LookAtRings carries out the checks of all rings, and brings the rings up to date.
func (s *Server) LookAtRings(ctx context.Context) {
	s.rings.Check(ctx)
	s.rings.Look(ctx)
}
