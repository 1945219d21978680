package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
)

// oneShard is the export that those of several shards are compared with.
const oneShard = "shards: 1"

// parseShards parses a list of numbers of shards.
func parseShards(text string) (list []int, err error) {
	if text == "" {
		return nil, nil
	}
	for s := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-shards %s: want numbers from 1 on, as in 1,2,4,8", text)
		}
		list = append(list, n)
	}
	return list, nil
}

// measureShards measures exports of F(n) to a registry in parts. The parts run one after the
// other, each with an empty cache on its disk, as on separate machines.
func (o *options) measureShards(ctx context.Context, n int, r *report, progress io.Writer) error {
	dir := filepath.Join(o.dir, fmt.Sprintf("F%d-shards", n))
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	w, err := generate(dir, o.charts, n)
	if err != nil {
		return err
	}
	if err := w.age(); err != nil {
		return err
	}
	for _, of := range o.shards {
		sum, slowest, err := o.exportShards(ctx, w, of)
		if err != nil {
			return err
		}
		fmt.Fprintf(progress, "F(%d) %s: %.2f CPU s\n", n, sum.What, sum.CPU)
		r.Results = append(r.Results, sum, slowest)
	}
	return nil
}

// exportShards exports all parts to a new registry. It returns the sum of the parts,
// with the largest peak, and the part that takes the most CPU seconds.
func (o *options) exportShards(ctx context.Context, w *work, of int) (sum, slowest result, err error) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	address := "oci://" + strings.TrimPrefix(server.URL, "http://") + "/clusters:main"
	sum.Clusters = len(w.clusters)
	for i := range of {
		cache := filepath.Join(w.dir, "cache")
		one := measure(ctx, w.dir, o.fleetc, "export", "--oci", address, "--shard", fmt.Sprintf("%d/%d", i, of), "--cache-dir", cache)
		if err := errors.Join(os.RemoveAll(cache), fault(one)); err != nil {
			return sum, slowest, err
		}
		sum.Wall, sum.CPU, sum.Peak = sum.Wall+one.Wall, sum.CPU+one.CPU, max(sum.Peak, one.Peak)
		if one.CPU > slowest.CPU {
			slowest = one
		}
	}
	sum.What = fmt.Sprintf("shards: %d", of)
	slowest.What, slowest.Clusters = sum.What+", the largest", sum.Clusters
	return sum, slowest, nil
}

func fault(r result) error {
	if r.Fault != "" {
		return errors.New(r.Fault)
	}
	return nil
}
