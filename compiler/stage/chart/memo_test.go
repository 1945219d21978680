package chart

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestMemoKeepsErrors(t *testing.T) {
	var o memo[string, int]
	n, broken := 0, errors.New("broken")
	work := func() (int, error) { n++; return n, broken }
	for range 3 {
		if v, err := o.do(t.Context(), "a", work); v != 1 || err != broken {
			t.Errorf("got %d, %v", v, err)
		}
	}
	if v, _ := o.do(t.Context(), "b", work); v != 2 {
		t.Errorf("another key: got %d", v)
	}
}

func TestMemoOutlivesACaller(t *testing.T) {
	var o memo[string, int]
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := o.do(ctx, "a", func() (int, error) { close(started); <-ctx.Done(); return 0, ctx.Err() })
		first <- err
	}()
	<-started
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := o.do(gone, "a", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that does not wait: got %v", err)
	}
	second := make(chan int, 1)
	go func() {
		v, _ := o.do(t.Context(), "a", func() (int, error) { return 7, nil })
		second <- v
	}()
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("first: got %v", err)
	}
	if v := <-second; v != 7 {
		t.Errorf("second: got %d, want its own work's", v)
	}
}

func TestMemoAfterPanic(t *testing.T) {
	var o memo[string, int]
	var recovered atomic.Bool
	func() {
		defer func() { recovered.Store(recover() != nil) }()
		_, _ = o.do(t.Context(), "a", func() (int, error) { panic("x") })
	}()
	if v, err := o.do(t.Context(), "a", func() (int, error) { return 1, nil }); v != 1 || err != nil || !recovered.Load() {
		t.Errorf("got %d, %v", v, err)
	}
}
