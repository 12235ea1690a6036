package facts

// Arrived are the clusters whose Secret has come since earlier facts, for the first time or
// anew. Argo CD does not ask again by itself for an Application whose cluster it did not know: that
// is an invalid destination to it, which it looks at again when the generator's requeue time has
// passed (argo-cd v2.14 and v3.2, applicationset_controller.go, Reconcile).
func (s Set) Arrived(before Set) []string {
	var out []string
	for _, name := range s.Names() {
		now, _ := s.Of(name)
		if was, _ := before.Of(name); now.Secret != "" && now.Secret != was.Secret {
			out = append(out, name)
		}
	}
	return out
}
