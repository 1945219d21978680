package par

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

func TestMap(t *testing.T) {
	odd := errors.New("odd")
	for _, limit := range []int{1, 2, 7, 100} {
		for _, n := range []int{0, 1, 7, 50} {
			t.Run(fmt.Sprintf("limit=%d,n=%d", limit, n), func(t *testing.T) {
				var inFlight, most atomic.Int32
				var got []int
				var failed int
				seq := Map(t.Context(), limit, n, func(_ context.Context, i int) (int, error) {
					now := inFlight.Add(1)
					for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
					}
					if i%2 == 1 {
						return 0, odd
					}
					return i, nil
				})
				for v, err := range seq {
					inFlight.Add(-1)
					if err != nil {
						failed++
						continue
					}
					got = append(got, v)
				}
				var want []int
				for i := 0; i < n; i += 2 {
					want = append(want, i)
				}
				if !slices.Equal(got, want) || failed != n/2 {
					t.Errorf("got %v and %d errors, want %v and %d", got, failed, want, n/2)
				}
				if int(most.Load()) > limit {
					t.Errorf("%d results were running or waiting, the limit is %d", most.Load(), limit)
				}
			})
		}
	}
}

func TestMapEndsWhatItStarted(t *testing.T) {
	var running atomic.Int32
	seq := Map(t.Context(), 7, 50, func(ctx context.Context, i int) (int, error) {
		running.Add(1)
		defer running.Add(-1)
		if i > 3 {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		return i, nil
	})
	for v := range seq {
		if v == 3 {
			break
		}
	}
	if n := running.Load(); n != 0 {
		t.Errorf("%d calls are still running after the loop", n)
	}
}

func TestMapCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var calls atomic.Int32
	var errs int
	for i, err := range Map(ctx, 2, 20, func(_ context.Context, i int) (int, error) { calls.Add(1); return i, nil }) {
		if i == 3 && err == nil {
			cancel()
		}
		if errors.Is(err, context.Canceled) {
			errs++
		}
	}
	if calls.Load() > 7 || errs < 13 {
		t.Errorf("%d calls and %d cancellations after cancelling at the fourth of 20", calls.Load(), errs)
	}
}

// TestMapPanic tests that a panic is a fault of one element only.
func TestMapPanic(t *testing.T) {
	var got []int
	var faults []string
	for v, err := range Map(t.Context(), 2, 3, func(_ context.Context, i int) (int, error) {
		if i == 1 {
			panic("odd")
		}
		return i, nil
	}) {
		if err != nil {
			faults = append(faults, fmt.Sprintf("%v [%s]", err, diag.All(err)[0].Code))
			continue
		}
		got = append(got, v)
	}
	if !slices.Equal(got, []int{0, 2}) || !slices.Equal(faults, []string{"fleetc has a bug: odd [FL3108]"}) {
		t.Errorf("got %v, and %v", got, faults)
	}
}

// TestMapEndsAtRunaway tests that nothing is started after an evaluation that
// does not stop.
func TestMapEndsAtRunaway(t *testing.T) {
	var calls, yielded int
	for _, err := range Map(t.Context(), 1, 50, func(_ context.Context, i int) (int, error) {
		calls++
		if i == 3 {
			return 0, &diag.Diag{Msg: "endless", Cause: diag.ErrRunaway}
		}
		return i, nil
	}) {
		yielded++
		if (err != nil) != (yielded == 4) {
			t.Errorf("result %d: %v", yielded, err)
		}
	}
	if yielded != 4 || calls != 4 {
		t.Errorf("%d results of %d calls", yielded, calls)
	}
}

func TestForEach(t *testing.T) {
	wrong, gone := errors.New("wrong"), errors.New("gone")
	var calls atomic.Int32
	err := ForEach(t.Context(), 2, 10, func(context.Context, int) error { calls.Add(1); return nil })
	if n := calls.Load(); n != 10 || err != nil {
		t.Errorf("%d calls, error %v", n, err)
	}
	err = ForEach(t.Context(), 2, 2, func(ctx context.Context, i int) error {
		if i == 0 {
			return wrong
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if err != wrong {
		t.Errorf("got %v, want the first error", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := ForEach(ctx, 1, 1, func(ctx context.Context, _ int) error { return ctx.Err() }); err != gone {
		t.Errorf("got %v, want the cause", err)
	}
	if err := ForEach(t.Context(), 1, 1, func(context.Context, int) error { panic("bug") }); err == nil {
		t.Error("a panic is not an error")
	}
}
