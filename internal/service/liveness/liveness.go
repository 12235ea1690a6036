// Package liveness finds out which members' API servers respond. An engine that caches a cluster
// reports the last health that it saw, for hours after the cluster has gone silent (Argo CD,
// gitops-engine/pkg/cache). A page that repeats it is wrong.
//
//	// members returns {"payments-prod-eu-1": "https://10.0.0.1:6443"}
//	prober := liveness.New(liveness.Options{Members: members})
//	go prober.Run(ctx)
//	since, why := prober.Silent("payments-prod-eu-1") // why is "no response in time"
//
// Callers may rely on:
//
//  1. A probe is one GET of /livez without credentials, on a connection of its own. Any response
//     below 500 proves life: a running API server also responds to a client that it refuses.
//  2. The certificate is not verified, as the authority is in a Secret that the service does not
//     read. A probe sends nothing secret, reads no body, and follows no redirect.
//  3. A member counts as responding only while its last response is recent. A service that has just
//     started, or whose probes hang, therefore reports no member as responding.
//  4. A failed probe is repeated once. The number of concurrent probes and their time are bounded.
//     After a failure a member gets less time, so that hanging members do not delay others.
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

	"golang.org/x/sync/errgroup"
)

const (
	// DefaultInterval is the time between two probes of a member.
	DefaultInterval = 45 * time.Second

	timeout       = 10 * time.Second // of one probe
	failedTimeout = 3 * time.Second  // after one that failed
	pause         = 2 * time.Second  // before a failed one is repeated
	tick          = time.Second      // between two checks which members are due
	atOnce        = 512
)

// Options configure a Prober. Members is required.
type Options struct {
	// Members returns the URLs of API servers by cluster; clusters without one are not probed.
	Members func() map[string]string
	// Interval is the time between two probes of a member; default DefaultInterval.
	Interval time.Duration
	Now      func() time.Time
}

// Prober knows which members respond.
type Prober struct {
	o      Options
	client *http.Client

	mu      sync.RWMutex
	members map[string]*member
	version uint64
}

// member is the state of one member's probes.
type member struct {
	address string
	// seen is the time of the last response; next is the time of the next probe.
	seen, next   time.Time
	busy, silent bool
	problem      string
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
	return &Prober{o: o, members: map[string]*member{}, client: &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10,
			TLSHandshakeTimeout: timeout,                               // a handshake continues after its request is given up
			TLSClientConfig:     &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a probe sends nothing secret
		},
	}}
}

// Run probes until the context ends.
func (p *Prober) Run(ctx context.Context) {
	var probes errgroup.Group
	probes.SetLimit(atOnce)
	defer func() { _ = probes.Wait() }()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		for _, t := range p.due() {
			probes.Go(func() error {
				p.record(t, p.probe(ctx, t))
				return nil
			})
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// probe probes a member. If it responded until now, a failed probe is repeated once.
func (p *Prober) probe(ctx context.Context, t target) error {
	if !t.hasFailed {
		err := p.ask(ctx, t.address)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
	ctx, end := context.WithTimeout(ctx, failedTimeout)
	defer end()
	return p.ask(ctx, t.address)
}

// due returns the members to probe now, in no order.
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

// follow records whether a member has fallen silent or responds again. The caller holds the lock.
func (p *Prober) follow(m *member, now time.Time) {
	if silent := p.isSilent(m, now); silent != m.silent {
		m.silent = silent
		p.version++
	}
}

// isSilent reports whether a member's last probe failed, or its last response is not recent.
func (p *Prober) isSilent(m *member, now time.Time) bool {
	return m.problem != "" || now.Sub(m.seen) > p.o.Interval+2*timeout+pause
}

// record records the outcome of a probe and schedules the next one.
func (p *Prober) record(t target, err error) {
	now := p.o.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.members[t.name]
	if m == nil || m.address != t.address {
		return
	}
	m.busy = false
	next := p.o.Interval
	if m.seen.IsZero() && err == nil { // spread the probes over the interval
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
		return errors.New("its address is not a URL")
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

// short returns an error without the address, which not every reader may see.
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

// Silent returns since when and why the API server of a member does not respond. The text is empty
// if it responds. The time is zero if it never has.
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

// Failing returns why the API server of a member does not respond, by a probe that has ended. It is
// empty if the server responds, was not probed yet, or has no https address.
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
