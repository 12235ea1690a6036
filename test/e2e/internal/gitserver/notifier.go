package gitserver

import "sync"

// Push is a push that changed a reference.
type Push struct {
	Repo  string
	Files []string // that differ on any of its branches, sorted
}

// notifier calls a function for one push after the other, apart from the pushes.
type notifier struct {
	mu      sync.Mutex
	call    func(Push)
	waiting []Push
	wake    chan struct{} // holds one token while something may wait
	done    chan struct{}
}

func (n *notifier) start() {
	n.wake, n.done = make(chan struct{}, 1), make(chan struct{})
	go func() {
		for {
			select {
			case <-n.done:
				return
			case <-n.wake:
			}
			for call, push := n.next(); call != nil; call, push = n.next() {
				call(push)
			}
		}
	}()
}

// stop makes no new calls; one under way is not waited for, as it may be the one that closes the
// server.
func (n *notifier) stop() {
	close(n.done)
	n.set(nil)
}

func (n *notifier) set(call func(Push)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.call = call
}

func (n *notifier) add(push Push) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.call == nil {
		return
	}
	n.waiting = append(n.waiting, push)
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// next takes the push that waits longest, if there is one and somebody to tell.
func (n *notifier) next() (call func(Push), push Push) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.call == nil || len(n.waiting) == 0 {
		n.waiting = nil
		return nil, Push{}
	}
	push, n.waiting = n.waiting[0], n.waiting[1:]
	return n.call, push
}
