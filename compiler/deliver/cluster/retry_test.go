package cluster

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var (
	errAway  = apierrors.NewServiceUnavailable("the API server starts")
	errHangs = errors.New("no response until the timeout")
)

// A retried write requires the lease again, which another process may have taken
// during an outage.
func TestWriteNeedsLease(t *testing.T) {
	lost := errors.New("another has the lease")
	t.Run("before the first try", func(t *testing.T) {
		c := &Cluster{retryTimeout: time.Minute, guard: func(context.Context) error { return lost }}
		err := c.write(t.Context(), func(context.Context) error {
			t.Error("the request is sent")
			return nil
		})
		if !errors.Is(err, lost) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("before each try", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			sent := 0
			c := &Cluster{retryTimeout: time.Minute}
			c.guard = func(context.Context) error {
				if sent == 2 {
					return lost
				}
				return nil
			}
			err := c.write(t.Context(), func(context.Context) error {
				sent++
				return errAway
			})
			if sent != 2 || !errors.Is(err, lost) {
				t.Errorf("%d requests, %v", sent, err)
			}
		})
	})
	t.Run("reads need none", func(t *testing.T) {
		c := &Cluster{retryTimeout: time.Minute, guard: func(context.Context) error { return lost }}
		if err := c.retry(t.Context(), func(context.Context) error { return nil }); err != nil {
			t.Errorf("got %v", err)
		}
	})
}

func TestRetry(t *testing.T) {
	webhook := apierrors.NewInternalError(errors.New(`failed calling webhook "a.example.com": EOF`))
	for name, test := range map[string]struct {
		asks     bool    // dry run
		errs     []error // of the tries; the last one repeats
		want     bool
		sent     int // number of requests; 0 for several
		duration time.Duration
		told     bool // the delay is reported
	}{
		"at once":                   {false, []error{nil}, true, 1, 0, false},
		"away for a moment":         {false, []error{errAway, errAway, nil}, true, 3, time.Second, false},
		"away for some seconds":     {false, []error{errAway, errAway, errAway, errAway, errAway, errAway, nil}, true, 7, 20 * time.Second, true},
		"away for ever":             {false, []error{errAway}, false, 0, 61 * time.Second, true},
		"no":                        {false, []error{conflict()}, false, 1, 0, false},
		"a webhook, written":        {false, []error{webhook}, false, 0, 61 * time.Second, true},
		"no response for long":      {false, []error{errHangs, nil}, true, 2, 31 * time.Second, true},
		"a webhook, asked":          {true, []error{webhook}, false, 1, 0, false},
		"an answer that hangs":      {false, []error{context.DeadlineExceeded, nil}, true, 2, time.Second, false},
		"away, and then not at all": {false, []error{errAway, conflict()}, false, 2, time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, sent := &Cluster{retryTimeout: time.Minute}, 0
				var reports atomic.Int32
				c.OnDelay(func(string) { reports.Add(1) })
				start := time.Now()
				send := c.retry
				if test.asks {
					send = c.retryQuery
				}
				err := send(t.Context(), func(ctx context.Context) error {
					err := test.errs[min(sent, len(test.errs)-1)]
					sent++
					if err == errHangs {
						<-ctx.Done()
						err = ctx.Err()
					}
					return err
				})
				if (err == nil) != test.want || test.sent != 0 && sent != test.sent {
					t.Errorf("%d requests, %v", sent, err)
				}
				if took := time.Since(start); took > test.duration {
					t.Errorf("it takes %s", took)
				}
				if told := reports.Load(); (told == 1) != test.told || told > 1 {
					t.Errorf("the delay is reported %d times", told)
				}
			})
		})
	}
}
