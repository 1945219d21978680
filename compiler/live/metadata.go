package live

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Metadata reads what there is of a kind in a namespace and has a label, without
// its content.
func (c *Cluster) Metadata(ctx context.Context, gvr schema.GroupVersionResource, namespace, label string) ([]metav1.PartialObjectMetadata, error) {
	var all []metav1.PartialObjectMetadata
	for more := ""; ; {
		var page *metav1.PartialObjectMetadataList
		err := c.do(ctx, func(ctx context.Context) error {
			var err error
			page, err = c.metadata.Resource(gvr).Namespace(namespace).List(ctx, metav1.ListOptions{LabelSelector: label, Limit: 500, Continue: more})
			return err
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
