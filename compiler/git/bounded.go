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

// shortest is how long at least [Repo.RunWithin] does not look.
const shortest = 200 * time.Millisecond

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
				begin := time.Now()
				if size(r.Dir) > most {
					cancel(&diag.Diag{Msg: fmt.Sprintf("%s: more than %d MiB to fetch", r.Name, most>>20), Hint: "use a smaller repository"})
				}
				pause = max(shortest, 20*time.Since(begin)) // of many files, looking costs more than git
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
