package run

// Trigger is a channel from which a loop receives a request to run.
type Trigger chan struct{}

// NewTrigger makes a trigger that has not fired.
func NewTrigger() Trigger { return make(Trigger, 1) }

// Fire asks the loop to run. It does not wait.
func (t Trigger) Fire() {
	select {
	case t <- struct{}{}:
	default: // a run is pending already
	}
}
