package clusters

import (
	"context"
	"os"
	"testing"
	"time"
)

// Test starts a fleet for one test and stops it at the end. The test fails if a
// part ended unexpectedly; a failed test keeps the logs and prints their directory.
func Test(t testing.TB, specs ...Spec) *Fleet {
	t.Helper()
	ctx := context.Background()
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, ok := d.Deadline(); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, deadline.Add(-20*time.Second))
			defer cancel()
		}
	}
	f, err := Start(ctx, os.Stderr, specs...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Err(); err != nil {
			t.Error(err)
		}
		if err := f.Stop(t.Failed()); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the logs of the clusters are in %s", f.Dir)
		}
	})
	return f
}
