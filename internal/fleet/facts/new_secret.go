package facts

// Arrived returns the clusters whose Secret is new since earlier facts. Argo CD does not query
// again by itself for an Application whose cluster it did not know: that is an invalid destination,
// which it looks at again after the generator's requeue time (argo-cd v2.14 and v3.2,
// applicationset_controller.go, Reconcile).
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
