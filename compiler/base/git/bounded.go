package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fleetc/fleetc/compiler/base/diag"
)

// Pauses between two size checks of [Repo.RunWithin].
const (
	minPause = 200 * time.Millisecond
	maxPause = 3 * time.Second
)

// RunWithin is [Repo.Run] for commands that fetch: it stops git with a fault
// when the files below Dir become larger than most bytes.
func (r Repo) RunWithin(ctx context.Context, most int64, limit int, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	defer func() { cancel(nil); <-done }()
	go func() {
		defer close(done)
		for pause := minPause; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
				if size(r.Dir) > most {
					cancel(&diag.Diag{Code: diag.CodeGitLimits, Msg: fmt.Sprintf("%s is larger than %d MiB", r.Name, most>>20), Hint: "use a smaller repository"})
				}
				pause = min(2*pause, maxPause) // walking many files costs more than git
			}
		}
	}()
	out, err := r.Run(ctx, nil, limit, args...)
	if d, ok := errors.AsType[*diag.Diag](context.Cause(ctx)); ok && err != nil {
		return nil, d
	}
	return out, err
}

// size returns the size of the files below a directory while it is being
// written.
func size(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			if info, err := e.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}
