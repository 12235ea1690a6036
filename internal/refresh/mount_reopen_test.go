package refresh_test

import (
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	fleetpkg "github.com/argosy-hub/argosy/internal/fleet"
	"github.com/argosy-hub/argosy/internal/refresh"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/testkit/assert"
	"github.com/argosy-hub/argosy/internal/testkit/fleettest"
	"github.com/argosy-hub/argosy/internal/testkit/require"
)

// TestMountThatCannotBeOpenedIsOpenedLater: a mount without its credentials, or whose mirror finds
// no room on the disk, is read once there are, without another commit or a restart. It is tried at
// intervals. (U2)
func TestMountThatCannotBeOpenedIsOpenedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main, cart := fleettest.NewSource(), fleettest.NewSource()
		var fails atomic.Bool
		var tries atomic.Int64
		fails.Store(true)
		r, err := refresh.New(refresh.Options{
			Source: main, Hub: "hub", Logger: slog.New(slog.DiscardHandler),
			Mounts: func(m fleetpkg.Mount) (source.Source, error) {
				if m.Path != "apps/cart" {
					return fleettest.NewSource(), nil
				}
				if tries.Add(1); fails.Load() {
					return (*fleettest.Source)(nil), errors.New("no space left on device")
				}
				return cart, nil
			},
		})
		require.NoError(t, err)
		r.Start(t.Context())
		defer func() {
			assert.NoError(t, r.Stop())
		}()
		main.Reports <- fleettest.Report{Snapshot: mounting("1", nil)}
		time.Sleep(10 * time.Minute)
		of := func(path string) refresh.Mount {
			for _, m := range r.Status().Mounts {
				if m.Path == path {
					return m
				}
			}
			t.Fatal("no such mount")
			return refresh.Mount{}
		}
		if m, n := of("apps/cart"), tries.Load(); !m.IsStale() || n < 5 || n > 60 {
			t.Errorf("it was tried %d times in ten minutes: %+v", n, m)
		}
		fails.Store(false)
		time.Sleep(2 * time.Minute)
		select {
		case cart.Reports <- fleettest.Report{Snapshot: commit("cart-1", "cart", 1)}:
		case <-time.After(time.Minute):
			t.Fatal("it is not opened any more")
		}
		synctest.Wait()
		if m := of("apps/cart"); m.Revision != "cart-1" || m.IsStale() {
			t.Errorf("%+v", m)
		}
	})
}

// TestMountThatCannotBeOpenedIsLeftAlone: a mount that could not be opened is neither polled nor
// closed, whatever its opener has returned beside the error: a webhook, a commit without the mount
// and the end of the service go on.
func TestMountThatCannotBeOpenedIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		main := fleettest.NewSource()
		r, err := refresh.New(refresh.Options{
			Source: main, Hub: "hub", Logger: slog.New(slog.DiscardHandler),
			Mounts: func(fleetpkg.Mount) (source.Source, error) {
				return (*fleettest.Source)(nil), errors.New("no credentials")
			},
		})
		require.NoError(t, err)
		r.Start(t.Context())
		main.Reports <- fleettest.Report{Snapshot: mounting("1", nil)}
		synctest.Wait()
		r.Trigger()
		main.Reports <- fleettest.Report{Snapshot: fleet(nil)}
		synctest.Wait()
		assert.NoError(t, r.Stop())
	})
}
