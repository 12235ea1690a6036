package server

import "context"

// LookAtRings carries out the checks of all rings, and brings the rings up to date.
func (s *Server) LookAtRings(ctx context.Context) {
	s.rings.Check(ctx)
	s.rings.Look(ctx)
}

// Joined is how many requests have shared another one's computation so far: the metrics wait for
// the guard's clock.
func (s *Server) Joined() int64 { return s.shared.Joined.Load() }
