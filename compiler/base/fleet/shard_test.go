package fleet

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"1/1": {1, 1}, "1/4": {1, 4}, "4/4": {4, 4}, "0/4": {4, 4}, "10000/10000": {10000, 10000}} {
		if got, err := ParseShard(text); got != want || err != nil {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":                        "is not a valid shard",
		"4":                       "is not a valid shard",
		"a/4":                     "is not a valid shard",
		"1/b":                     "is not a valid shard",
		"1/4/2":                   "is not a valid shard",
		"+1/4":                    "is not a valid shard",
		"01/4":                    "is not a valid shard",
		"1 /4":                    "is not a valid shard",
		"99999999999999999999/4":  "is not a valid shard",
		"1/-4":                    "invalid number of shards: -4",
		"1/0":                     "invalid number of shards: 0",
		"1/10001":                 "invalid number of shards: 10001",
		"-1/4":                    "invalid shard -1 of 4",
		"5/4":                     "invalid shard 5 of 4",
		"\x1b[31m":                "is not a valid shard",
		strings.Repeat("1", 1000): "is not a valid shard",
	} {
		if got, err := ParseShard(text); err == nil || got != (Shard{}) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// TestShardHas checks that every cluster is in exactly one shard.
func TestShardHas(t *testing.T) {
	const clusters = 2000
	for of := 1; of <= 16; of++ {
		sizes := make([]int, of)
		for i := range clusters {
			id, in := fmt.Sprintf("prod/eu-%d", i), 0
			for n := range of {
				if (Shard{n + 1, of}).Has(id) {
					sizes[n]++
					in++
				}
			}
			if in != 1 {
				t.Fatalf("%s is in %d of %d shards", id, in, of)
			}
		}
		for n, size := range sizes {
			if size < clusters/of*7/10 || size > clusters/of*13/10+1 {
				t.Errorf("shard %d of %d has %d of %d clusters", n+1, of, size, clusters)
			}
		}
	}
	if !(Shard{}).Has("prod/eu-1") {
		t.Error("no shard is all clusters")
	}
	// Different versions of fleetc must agree.
	for id, want := range map[string]int{"dev/local": 1, "prod/eu-1": 4, "prod/us-1": 2} {
		if !(Shard{want, 4}).Has(id) {
			t.Errorf("%s has moved", id)
		}
	}
}
