// Rules for every release of the cluster: that its pods run.
function(params, cluster) {
  [release.name]: {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: {
      name: 'release-' + release.name,
      labels: { release: 'monitoring' },
    },
    spec: {
      groups: [{
        name: release.name,
        rules: [{
          alert: 'PodsNotReady',
          expr: 'sum by (pod) (kube_pod_status_ready{condition="false", namespace="%(namespace)s"}) > 0' % release,
          'for': params.patience,
          labels: { severity: params.severity, cluster: cluster.name },
          annotations: { summary: 'Pods of %s are not ready in %s.' % [release.name, cluster.name] },
        }],
      }],
    },
  }
  for release in params.targets
}
