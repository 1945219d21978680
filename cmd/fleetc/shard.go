package main

import (
	"github.com/spf13/cobra"

	"github.com/fleetc/fleetc/compiler/base/fleet"
)

// shardFlag adds --shard. The returned function parses it.
func shardFlag(cmd *cobra.Command) func() (fleet.Shard, error) {
	var text string
	cmd.Flags().StringVar(&text, "shard", "", "only this `part` of the clusters: 1/4 is the first of four parts")
	return func() (fleet.Shard, error) {
		if !cmd.Flags().Changed("shard") {
			return fleet.Shard{}, nil
		}
		return fleet.ParseShard(text)
	}
}
