package par

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

func TestRunLimited(t *testing.T) {
	wrong := errors.New("wrong")
	if got, err := RunLimited(t.Context(), Limits{}, func() (int, error) { return 1, wrong }); got != 1 || err != wrong {
		t.Errorf("got %d, %v", got, err)
	}
	func() {
		defer func() {
			if p := recover(); p != "no" {
				t.Errorf("panicked with %v", p)
			}
		}()
		_, _ = RunLimited(t.Context(), Limits{}, func() (int, error) { panic("no") })
	}()
}

func TestCancel(t *testing.T) {
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	forever := make(chan struct{})
	defer close(forever)
	_, err := RunLimited(ctx, Limits{}, func() (int, error) {
		cancel(gone)
		<-forever
		return 0, nil
	})
	if err != gone {
		t.Errorf("got %v", err)
	}
	if _, err = RunLimited(ctx, Limits{}, func() (int, error) { t.Error("called"); return 0, nil }); err != gone {
		t.Errorf("got %v", err)
	}
}

func TestTime(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	_, err := RunLimited(t.Context(), Limits{Time: time.Millisecond}, func() (int, error) { <-forever; return 0, nil })
	over, ok := errors.AsType[*Excess](err)
	if !ok || over.Of != Time || err.Error() != "the evaluation takes longer than 1ms" || !errors.Is(err, diag.ErrRunaway) {
		t.Errorf("got %v", err)
	}
}

func TestMemory(t *testing.T) {
	forever := make(chan struct{})
	defer close(forever)
	grown := 0
	_, err := RunLimited(t.Context(), Limits{Memory: 8 << 20, Grows: func() { grown++ }}, func() (int, error) {
		kept := make([]byte, 64<<20)
		for i := range kept {
			kept[i] = 1
		}
		<-forever
		return int(kept[0]), nil
	})
	if over, ok := errors.AsType[*Excess](err); !ok || over.Of != Memory || err.Error() != "the evaluation takes more than 8 MiB of memory" {
		t.Errorf("got %v", err)
	}
	if grown != 1 {
		t.Errorf("Grows was called %d times", grown)
	}
}

func TestDepth(t *testing.T) {
	forever, ended := make(chan struct{}), make(chan struct{})
	defer func() { <-ended }() // the stack is not that of the next test
	defer close(forever)
	var deep func(n int, pad [128]int) int
	deep = func(n int, pad [128]int) int {
		if n == 0 {
			<-forever
			return pad[0]
		}
		return deep(n-1, pad) + pad[1]
	}
	_, err := RunLimited(t.Context(), Limits{}, func() (int, error) {
		defer close(ended)
		return deep(180_000, [128]int{}), nil
	})
	if over, ok := errors.AsType[*Excess](err); !ok || over.Of != Depth {
		t.Errorf("got %v", err)
	}
}

// TestMemoryOfOthers lets evaluations end that began while another took too much.
func TestMemoryOfOthers(t *testing.T) {
	kept := make([]byte, 12<<20)
	_, err := RunLimited(t.Context(), Limits{Memory: 8 << 20}, func() (int, error) {
		more := make([]byte, 12<<20)
		for i := range more {
			more[i] = kept[i] + 1
		}
		time.Sleep(4 * glance)
		return int(more[0]), nil
	})
	if err != nil {
		t.Errorf("got %v", err)
	}
}
