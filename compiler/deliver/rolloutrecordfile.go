package deliver

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/fleetc/fleetc/compiler/base/diag"
	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// The file with the records of all waves, below the directory of an export in a branch.
const (
	waveRecordDir  = ".fleetc"
	waveRecordFile = "rollout.json"

	recordFormat = "fleetc.rollout/v1"
)

// WaveRecords are the records of the waves of fleets that share a branch.
type WaveRecords struct {
	Format string                           `json:"format"` // fleetc.rollout/v1
	Fleets map[string]map[string]WaveRecord `json:"fleets"` // by CUE module and wave
}

// parseWaveRecords parses the file with records; an empty one has none. pos is its position.
func parseWaveRecords(data []byte, pos diag.Pos) (*WaveRecords, error) {
	r := &WaveRecords{Format: recordFormat}
	if len(data) > 0 {
		if err := json.Unmarshal(data, r); err != nil {
			return nil, &diag.Diag{
				Code: diag.CodeDamagedRecord, At: []diag.Pos{pos},
				Msg:  "the file with approvals and pauses cannot be read: " + diag.Brief(err),
				Hint: "restore it from an earlier commit, or remove it, then approve and pause again",
			}
		}
		if r.Format != recordFormat {
			return nil, &diag.Diag{
				Code: diag.CodeOtherVersion, At: []diag.Pos{pos},
				Msg:  fmt.Sprintf("the file has the format %q, but this fleetc supports %s", diag.Visible(r.Format, diag.MaxText), recordFormat),
				Hint: "run the version of fleetc that wrote it",
			}
		}
	}
	if r.Fleets == nil {
		r.Fleets = map[string]map[string]WaveRecord{}
	}
	return r, nil
}

// Change changes the record of a wave, and reports whether it differs. It forgets waves that
// have nothing on record.
func (r *WaveRecords) Change(module, wave string, change func(*WaveRecord)) bool {
	waves := r.Fleets[module]
	if waves == nil {
		waves = map[string]WaveRecord{}
		r.Fleets[module] = waves
	}
	record := waves[wave]
	before := record
	change(&record)
	if record.Approval == nil && record.Pause == nil && record.Abort == nil {
		record = WaveRecord{} // a record without a decision is removed
		delete(waves, wave)
	} else {
		waves[wave] = record
	}
	if len(waves) == 0 {
		delete(r.Fleets, module)
	}
	return !reflect.DeepEqual(record, before)
}

// Follow moves the pause of clusters to the waves that now contain them, and the abort of a wave
// that no longer exists. It drops the approval of such a wave.
func (r *WaveRecords) Follow(module string, order *fleet.Rollout, clusters []*fleet.Cluster) {
	names, waves := order.WaveNames(), map[string]string{} // waves: name of the wave by cluster ID
	for i, in := range order.Clusters(clusters) {
		for _, c := range in {
			waves[c.ID] = names[i]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Fleets[module])) {
		old := r.Fleets[module][name]
		exists := slices.Contains(names, name)
		ids := old.Clusters
		if !exists {
			ids = append([]string{old.Cluster}, ids...)
		}
		moved := diag.Filter(ids, func(id string) bool { return waves[id] != "" && waves[id] != name })
		r.Change(module, name, func(record *WaveRecord) {
			if record.Clusters = without(old.Clusters, moved); !exists {
				*record = WaveRecord{}
			}
		})
		for _, id := range moved {
			r.Change(module, waves[id], func(record *WaveRecord) {
				record.Pause, record.Cluster = cmp.Or(record.Pause, old.Pause), cmp.Or(record.Cluster, id)
				if !exists {
					record.Abort = cmp.Or(record.Abort, old.Abort)
				}
				if old.Pause != nil {
					record.Clusters = diag.Distinct(slices.Concat(record.Clusters, []string{id}))
				}
			})
		}
	}
}

// without returns the IDs that are not among the others.
func without(ids, others []string) []string {
	return diag.Filter(ids, func(id string) bool { return !slices.Contains(others, id) })
}

// common returns the IDs that are among the others.
func common(ids, others []string) []string {
	return diag.Filter(ids, func(id string) bool { return slices.Contains(others, id) })
}

// Encode returns the text of the file.
func (r *WaveRecords) Encode() ([]byte, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	return append(data, '\n'), err
}
