package deliver

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The metrics. docs/drift.md describes them.
var (
	objectsDesc     = prometheus.NewDesc("fleetc_drift_objects", "Objects that differ from the fleet, at the last successful check. Series without objects are left out.", []string{"cluster", "release", "reason"}, nil)
	successDesc     = prometheus.NewDesc("fleetc_drift_check_success", "Whether the last check of the cluster succeeded.", []string{"cluster"}, nil)
	lastSuccessDesc = prometheus.NewDesc("fleetc_drift_last_success_timestamp_seconds", "Time of the last successful check of the cluster; 0 for none.", []string{"cluster"}, nil)
	bundleDesc      = prometheus.NewDesc("fleetc_bundle_info", "The bundle that the cluster runs.", []string{"cluster", "revision", "digest", "commit"}, nil)
	waveDesc        = prometheus.NewDesc("fleetc_rollout_wave", "Clusters of a wave in a state, at the last checks. Series without clusters are left out.", []string{"wave", "position", "state"}, nil)
	loadDesc        = prometheus.NewDesc("fleetc_drift_load_success", "Whether the files of the fleet could be loaded without a fault in the last round.", nil, nil)
)

// An objectCount identifies a count of objects.
type objectCount struct {
	release string
	reason  DriftReason
}

// A clusterState has the result of the last checks of a cluster.
type clusterState struct {
	objects     map[objectCount]int
	success     bool
	lastSuccess time.Time
	running     *RunningBundle
	wave        wavePosition
}

// A wavePosition is a wave of the rollout with the state of a cluster in it.
type wavePosition struct {
	name     string
	position int
	state    TargetState
}

// A collector exports the results of the last checks to Prometheus.
type collector struct {
	mu       sync.Mutex
	clusters map[string]*clusterState
	ended    bool // whether a round has ended
	load     bool // whether the fleet was loaded in the last round
}

func newCollector() *collector { return &collector{clusters: map[string]*clusterState{}} }

// set stores the result of a check. A failed check keeps the counts of the last
// successful one: it is not drift, and not the end of drift.
func (s *collector) set(c *DriftCluster, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.clusters[c.ID]
	if one == nil {
		one = &clusterState{}
		s.clusters[strings.Clone(c.ID)] = one
	}
	if one.wave.state = c.State(); c.Checked || c.Position > 0 { // a layer that cannot be evaluated has no waves
		one.wave.name, one.wave.position = strings.Clone(c.Wave), c.Position
	}
	if one.success = c.Checked; !c.Checked {
		return
	}
	one.lastSuccess, one.running, one.objects = at, nil, map[objectCount]int{}
	if c.Running != nil {
		running := *c.Running
		one.running = &running
	}
	for _, f := range c.Findings {
		one.objects[objectCount{strings.Clone(f.Release), f.Reason}]++
	}
}

// removeOthers removes the clusters that are not in the report.
func (s *collector) removeOthers(r *DriftReport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.clusters, func(id string, _ *clusterState) bool {
		return !slices.ContainsFunc(r.Clusters, func(c *DriftCluster) bool { return c.ID == id })
	})
}

// loaded records whether the fleet was loaded in a round.
func (s *collector) loaded(ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.load = true, ok
}

// failAll records that no cluster was checked.
func (s *collector) failAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clusters {
		c.success, c.wave.state = false, TargetFailed
	}
}

// Describe implements [prometheus.Collector].
func (s *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{objectsDesc, successDesc, lastSuccessDesc, bundleDesc, waveDesc, loadDesc} {
		out <- d
	}
}

// Collect implements [prometheus.Collector].
func (s *collector) Collect(out chan<- prometheus.Metric) {
	for _, m := range s.metrics() {
		out <- m
	}
}

// metrics returns all metrics.
func (s *collector) metrics() []prometheus.Metric {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []prometheus.Metric
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		for i, l := range labels {
			labels[i] = strings.ToValidUTF8(l, "?")
		}
		out = append(out, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...))
	}
	waves := map[wavePosition]int{}
	for id, c := range s.clusters {
		if c.wave.position > 0 {
			waves[c.wave]++
		}
		for k, n := range c.objects {
			gauge(objectsDesc, float64(n), id, k.release, string(k.reason))
		}
		gauge(successDesc, number(c.success), id)
		gauge(lastSuccessDesc, seconds(c.lastSuccess), id)
		if r := c.running; r != nil {
			gauge(bundleDesc, 1, id, strconv.Itoa(r.Revision), r.Bundle, r.Commit)
		}
	}
	for w, n := range waves {
		gauge(waveDesc, float64(n), w.name, strconv.Itoa(w.position), string(w.state))
	}
	if s.ended {
		gauge(loadDesc, number(s.load))
	}
	return out
}

// number returns 1 for true.
func number(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}

// seconds returns a time as seconds since 1970, 0 for the zero time.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.Unix())
}
