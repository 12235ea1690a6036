// Package liveness finds out which members' API servers respond. An engine that caches a cluster
// reports the last health that it saw, for hours after the cluster has gone silent (Argo CD,
// gitops-engine/pkg/cache). A page that repeats it is wrong. Its rules:
//
//  1. A probe is one GET of /livez without credentials, by a connection of its own. Any response
//     below 500 proves life: who may not ask is refused by an API server that runs.
//  2. The certificate is not verified, as the authority is in a Secret that the service does not
//     read. A probe sends nothing secret, reads no body, and follows no redirect.
//  3. A member responds only as long as its last response is recent. So a service that has just
//     started, or whose probes hang, takes nothing for true.
//  4. A failed probe is repeated once. Probes at once and their time are bounded, those of members
//     that failed before apart from the others: however many hang, one that responds is probed in
//     time. The probes of a second are spread over it.
package liveness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// DefaultInterval is the time between two probes of a member.
	DefaultInterval = 45 * time.Second

	timeout = 10 * time.Second // of one probe
	pause   = 2 * time.Second  // before a failed one is repeated
	tick    = time.Second      // between two looks at which members are due
	atOnce  = 256
	// failedAtOnce are the probes at once of members whose last one failed.
	failedAtOnce = 128
)

// Options are what a Prober needs. Members is required.
type Options struct {
	// Members returns the URLs of API servers by cluster; those without one are not probed.
	Members func() map[string]string
	// Interval is the time between two probes of a member; default DefaultInterval.
	Interval time.Duration
	Now      func() time.Time
}

// Prober knows which members respond.
type Prober struct {
	o             Options
	client        *http.Client
	slots, failed chan struct{}

	mu      sync.RWMutex
	members map[string]*member
	version uint64
}

// member is what is known of one.
type member struct {
	address string
	// seen is the last response; next is when a probe is due.
	seen, next   time.Time
	busy, silent bool
	// repeats reports that the first of two probes has failed.
	repeats bool
	problem string
}

// target is a member to probe.
type target struct {
	name, address string
	// hasFailed reports that its last probe failed.
	hasFailed bool
}

// New makes a Prober.
func New(o Options) *Prober {
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	dialer := &net.Dialer{Timeout: timeout}
	return &Prober{o: o, members: map[string]*member{}, slots: make(chan struct{}, atOnce), failed: make(chan struct{}, failedAtOnce), client: &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10,
			TLSHandshakeTimeout: timeout,                               // a handshake goes on when its request has been given up
			TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // rule 2
		},
	}}
}

// Run probes until the context ends.
func (p *Prober) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		due := p.due()
		next := time.NewTicker(tick / time.Duration(len(due)+1)) // hundreds of handshakes at once take memory
		for _, t := range due {
			slots, isFree := p.take(ctx, t)
			if isFree {
				running.Go(func() {
					defer func() { <-slots }()
					p.record(t, p.ask(ctx, t.address))
				})
			} else {
				p.putBack(t)
			}
			select {
			case <-next.C:
			case <-ctx.Done():
				return
			}
		}
		next.Stop()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// take takes a slot. A member that failed before waits for none: the others are probed meanwhile.
func (p *Prober) take(ctx context.Context, t target) (slots chan struct{}, isFree bool) {
	if t.hasFailed {
		select {
		case p.failed <- struct{}{}:
			return p.failed, true
		default:
			return nil, false
		}
	}
	select {
	case p.slots <- struct{}{}:
		return p.slots, true
	case <-ctx.Done():
		return nil, false
	}
}

// putBack makes a member due again that was not probed.
func (p *Prober) putBack(t target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.members[t.name]; m != nil && m.address == t.address {
		m.busy = false
	}
}

// due are the members to probe now, in no order.
func (p *Prober) due() (out []target) {
	all, now := p.o.Members(), p.o.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, address := range all {
		m := p.members[name]
		if m == nil || m.address != address {
			m = &member{address: address, next: now, silent: true}
			p.members[name] = m
		}
		if !m.busy && !now.Before(m.next) {
			m.busy = true
			out = append(out, target{name, address, m.problem != ""})
		}
		p.follow(m, now)
	}
	for name := range p.members {
		if _, is := all[name]; !is {
			delete(p.members, name)
		}
	}
	return out
}

// follow notes whether a member has fallen silent, or responds again. The caller holds the lock.
func (p *Prober) follow(m *member, now time.Time) {
	if silent := p.isSilent(m, now); silent != m.silent {
		m.silent = silent
		p.version++
	}
}

// isSilent is rule 3.
func (p *Prober) isSilent(m *member, now time.Time) bool {
	return m.problem != "" || now.Sub(m.seen) > p.o.Interval+2*timeout+pause
}

// record notes the outcome of a probe (rule 4).
func (p *Prober) record(t target, err error) {
	now := p.o.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.members[t.name]
	if m == nil || m.address != t.address {
		return
	}
	m.busy = false
	if m.repeats = err != nil && !t.hasFailed && !m.repeats; m.repeats {
		m.next = now.Add(pause)
		return
	}
	next := p.o.Interval
	if m.seen.IsZero() && err == nil { // the first ones are spread over the interval
		next = time.Duration(rand.Int64N(int64(next)))
	}
	m.next, m.problem = now.Add(next), ""
	if err != nil {
		m.problem = err.Error()
	} else {
		m.seen = now
	}
	p.follow(m, now)
}

func (p *Prober) ask(ctx context.Context, address string) error {
	if !strings.HasPrefix(address, "https://") {
		return errors.New("its address does not begin with https://")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/livez", nil)
	if err != nil {
		return errors.New("its address is no URL")
	}
	resp, err := p.client.Do(r)
	if err != nil {
		return short(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode >= http.StatusInternalServerError {
		return fmt.Errorf("it responds %s", resp.Status)
	}
	return nil
}

// short is an error without the address, which is not for every reader.
func short(err error) error {
	var timeout net.Error
	var op *net.OpError
	var u *url.Error
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("no response in time")
	case errors.As(err, &op):
		return errors.New(op.Op + ": connection failed")
	case errors.As(err, &u):
		return errors.New("no HTTPS response")
	}
	return errors.New("no response")
}

// Silent is since when the API server of a member with an address does not respond, and why. The
// text is empty for one that does. The time is zero for one that never has.
func (p *Prober) Silent(cluster string) (since time.Time, why string) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	m := p.members[cluster]
	if m == nil {
		return time.Time{}, "it was not probed yet"
	}
	if !p.isSilent(m, p.o.Now()) {
		return time.Time{}, ""
	}
	why = m.problem
	if why == "" {
		why = "no probe has ended in time"
		if m.seen.IsZero() {
			why = "the first probe is under way"
		}
	}
	return m.seen, why
}

// Failing is why the API server of a member does not respond, by a probe that has ended; empty for
// one that responds, and where nobody knows: it was not probed yet, or has no such address.
func (p *Prober) Failing(cluster string) string {
	since, why := p.Silent(cluster)
	p.mu.RLock()
	defer p.mu.RUnlock()
	if m := p.members[cluster]; m == nil || !strings.HasPrefix(m.address, "https://") || since.IsZero() && m.problem == "" {
		return ""
	}
	return why
}

// Version changes when a member falls silent or responds again.
func (p *Prober) Version() uint64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.version
}
