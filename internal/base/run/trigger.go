package run

// Trigger is received from by the loop, as from any channel.
type Trigger chan struct{}

// New makes a trigger that has not fired.
func NewTrigger() Trigger { return make(Trigger, 1) }

// Fire asks the loop to run. It does not wait.
func (t Trigger) Fire() {
	select {
	case t <- struct{}{}:
	default: // a run is pending already
	}
}
