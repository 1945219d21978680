package deliver

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/fleetc/fleetc/compiler"
	"github.com/fleetc/fleetc/compiler/base/diag"
)

// DriftServerOptions configure a server.
type DriftServerOptions struct {
	DriftRequest // its Done must be nil

	Interval time.Duration
	Compiler func(dir string) *compiler.Compiler // makes the compiler of a round for a directory with the fleet
	Log      *slog.Logger

	// Pull returns the directory with the current files of the fleet, and their commit,
	// which may be empty.
	Pull func(ctx context.Context) (dir, commit string, err error)
}

// A driftServer checks the fleet in rounds.
type driftServer struct {
	DriftServerOptions
	state *collector
	ready atomic.Bool // whether a round has ended that read the fleet, which may have faults

	// doubtful has the clusters whose check failed only at the end of the last round, by ID:
	// the context of another cluster leads to the same one. Their results wait for the end
	// of the round, so that the metrics do not say success in between.
	doubtful map[string]bool
}

// endDelay is how long ServeDrift waits for the end of a round after ctx has ended.
const endDelay = time.Second

// ServeDrift serves the results of checks as Prometheus metrics, and checks the fleet at each
// interval until ctx ends. It returns the error of the listener.
//
// Between checks, ServeDrift keeps only a few counts per cluster. It drops bundles, objects and
// connections after each round, so that the next round reads kubeconfigs and tokens again.
func ServeDrift(ctx context.Context, l net.Listener, o DriftServerOptions) error {
	s := &driftServer{DriftServerOptions: o, state: newCollector()}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	web := &http.Server{
		Handler: s.handler(), BaseContext: func(net.Listener) context.Context { return ctx },
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			cancel(err)
		}
	}()
	o.Log.Info("serving", "address", l.Addr().String(), "interval", o.Interval.String())
	rounds := make(chan struct{})
	go func() {
		defer close(rounds)
		s.rounds(ctx)
	}()
	<-ctx.Done()
	select { // an evaluation does not stop, and is not worth waiting for
	case <-rounds:
	case <-time.After(endDelay):
	}
	err := web.Close()
	<-ended
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// handler returns the handler of all pages.
func (s *driftServer) handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(s.state, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.ready.Load() {
			answer(w, http.StatusOK, "ok")
			return
		}
		answer(w, http.StatusServiceUnavailable, "no round has read the fleet yet")
	})
	return mux
}

// answer writes a line of text.
func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n")) // the client may be gone
}

// rounds checks the fleet at each interval until ctx ends. A round that takes longer than
// the interval delays the next one.
func (s *driftServer) rounds(ctx context.Context) {
	tick := time.NewTicker(s.Interval)
	defer tick.Stop()
	for {
		s.round(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// round checks all clusters once.
func (s *driftServer) round(ctx context.Context) {
	begin := time.Now()
	dir, commit, err := s.Pull(ctx)
	var files error
	if err == nil {
		files, err = s.check(ctx, dir)
	}
	if ctx.Err() != nil {
		return
	}
	s.state.loaded(err == nil && files == nil)
	if err != nil {
		s.state.failAll()
		s.Log.Error("the fleet was not checked", "commit", commit, "faults", diag.Texts(err))
		return
	}
	if files != nil {
		s.Log.Error("the files of the fleet have faults", "commit", commit, "faults", diag.Texts(files))
	}
	s.ready.Store(true)
	s.Log.Info("round ended", "commit", commit, "seconds", time.Since(begin).Seconds())
}

// check checks all clusters of the fleet in a directory. Each result is visible as soon
// as its cluster is checked. files has the faults of the files of the fleet; err says why
// nothing was checked.
func (s *driftServer) check(ctx context.Context, dir string) (files, err error) {
	req := s.DriftRequest
	req.Key = []byte(rand.Text())
	begin := time.Now()
	set := func(c *DriftCluster) {
		s.state.set(c, time.Now())
		s.log(c, time.Since(begin))
	}
	var mu sync.Mutex
	succeeded := map[string]bool{}
	req.Done = func(c *DriftCluster) {
		mu.Lock()
		defer mu.Unlock()
		if succeeded[c.ID] = succeeded[c.ID] || c.Checked; ctx.Err() == nil && !s.doubtful[c.ID] {
			set(c)
		}
	}
	report, err := CheckDrift(ctx, s.Compiler(dir), req)
	if err != nil {
		return nil, err
	}
	doubtful := map[string]bool{}
	for _, c := range report.Clusters {
		if s.doubtful[c.ID] {
			set(c)
		}
		if succeeded[c.ID] && !c.Checked {
			doubtful[c.ID] = true
		}
	}
	s.doubtful = doubtful
	s.state.removeOthers(report)
	return report.files, nil
}

// log writes one line about a checked cluster. The time includes the wait for other
// clusters to compile.
func (s *driftServer) log(c *DriftCluster, took time.Duration) {
	if !c.Checked {
		s.Log.Warn("check failed", "cluster", c.ID, "faults", c.Faults, "seconds", took.Seconds())
		return
	}
	args := []any{"cluster", c.ID, "differences", len(c.Findings), "ignored", len(c.Ignored), "behind", c.Behind, "seconds", took.Seconds()}
	if len(c.Unlisted) > 0 {
		args = append(args, "unlisted", c.Unlisted)
	}
	s.Log.Info("checked", args...)
}
