package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/fleetc/fleetc/compiler/diag"
)

// How long [Repo.RunWithin] does not look.
const (
	shortest = 200 * time.Millisecond
	longest  = 3 * time.Second
)

// RunWithin is [Repo.Run] for what fetches: it stops git when the files below
// Dir become more than most bytes, which is a fault.
func (r Repo) RunWithin(ctx context.Context, most int64, limit int, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	defer func() { cancel(nil); <-done }()
	go func() {
		defer close(done)
		for pause := shortest; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
				if size(r.Dir) > most {
					cancel(&diag.Diag{Msg: fmt.Sprintf("%s: more than %d MiB to fetch", r.Name, most>>20), Hint: "use a smaller repository"})
				}
				pause = min(2*pause, longest) // to look at many files costs more than git
			}
		}
	}()
	out, err := r.Run(ctx, nil, limit, args...)
	if d, ok := errors.AsType[*diag.Diag](context.Cause(ctx)); ok && err != nil {
		return nil, d
	}
	return out, err
}

// size is the size of all files below a directory that is being written to.
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
