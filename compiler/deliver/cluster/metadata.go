package cluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Metadata lists the metadata of a resource's objects with a label in a namespace.
func (c *Cluster) Metadata(ctx context.Context, gvr schema.GroupVersionResource, namespace, label string) ([]metav1.PartialObjectMetadata, error) {
	var all []metav1.PartialObjectMetadata
	for more := ""; ; {
		page, err := result(ctx, c.retry, func(ctx context.Context) (*metav1.PartialObjectMetadataList, error) {
			return c.metadata.Resource(gvr).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: label, Limit: listPage, Continue: more})
		})
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if more = page.GetContinue(); more == "" {
			return all, nil
		}
	}
}
