// Every constructor and mixin of the library, in a stack that could be real.
local k = import 'fleetc.libsonnet';

function(params, cluster, release)
  local probe = k.httpProbe('/healthz', 'http');
  local web =
    k.container('web', params.image)
    + k.withCommand(['/web'])
    + k.withArgs(['--region', cluster.labels.region])
    + k.withPort(8080)
    + k.withPort(9090, 'metrics')
    + k.withEnv({ WORKERS: 4, DEBUG: false, REGION: cluster.labels.region })
    + k.withSecretEnv('PASSWORD', 'web', 'password')
    + k.withFieldEnv('POD_IP', 'status.podIP')
    + k.withConfigMapEnv('web')
    + k.withAllSecretEnv('web-keys')
    + k.withResources({ cpu: '100m', memory: '64Mi' }, { memory: '64Mi' })
    + k.withMount('config', '/etc/web')
    + k.withMount('scratch', '/tmp', readOnly=false)
    + k.withMount('tls', '/tls/ca.crt', subPath='ca.crt')
    + k.withProbes(probe, k.tcpProbe(8080))
    + k.withStartupProbe(k.execProbe(['/web', 'check']))
    + k.withHardening();
  local small(name) = k.container(name, params.image);

  k.each({
    namespace: k.namespace('web') + k.withAnnotations({ purpose: 'a test' }),
    config: k.configMap('web', { 'web.yaml': k.manifestYaml({ replicas: params.replicas, list: [1, 'yes'] }) }),
    web:
      k.deployment('web', [web, small('side')])
      + k.withReplicas(params.replicas)
      + k.withServiceAccount('web')
      + k.withVolume(k.configMapVolume('config', 'web'))
      + k.withVolume(k.emptyDirVolume('scratch', '10Mi'))
      + k.withVolume(k.secretVolume('tls'))
      + k.withVolume(k.hostPathVolume('logs', '/var/log', 'Directory'))
      + k.withInitContainer(small('init'))
      + k.withContainer('side', k.withEnv({ SIDE: 1 }))
      + k.withNodeSelector({ 'kubernetes.io/os': 'linux' })
      + k.withToleration({ key: 'dedicated', operator: 'Exists' })
      + k.withPodLabels({ tier: 'front' })
      + k.withPodAnnotations({ 'example.com/scrape': 'true' })
      + k.withRestartOn('config', self.config.data),
    service: k.serviceFor(self.web),
    budget: k.disruptionBudgetFor(self.web),
    autoscaler: k.autoscalerFor(self.web, 2, 10),
    ingress: k.ingress('web', [k.ingressRule('web.example.com', 'web', 8080)], 'nginx') + k.withTls('web-tls', ['web.example.com']),
    policies: [
      k.networkPolicy('deny-all'),
      k.networkPolicy('web', k.selectorOf($.web))
      + k.withIngressFrom([k.namespacePeer('ingress'), k.podPeer({ role: 'probe' }, everywhere=true)], [8080])
      + k.withEgressTo([k.podPeer({ app: 'db' })], [5432])
      + k.withEgressTo([]),
    ],
    access: k.access('web', release.namespace, [k.rule([''], ['configmaps'], ['get'])]),
    reader: k.clusterAccess('reader', release.namespace, [k.rule(['apps'], ['deployments'], ['get', 'list'])]),
    db: {
      set:
        k.statefulSet('db', [small('db') + k.withPort(5432, 'db') + k.withMount('data', '/data', readOnly=false)], 'db-headless')
        + k.withVolume(k.claimVolume('data', 'db')),
      service: k.service('db-headless', { 'app.kubernetes.io/name': 'db' }, [k.servicePort(5432, name='db')]) + k.withHeadless(),
      claim: k.persistentVolumeClaim('db', '1Gi', 'fast'),
    },
    agent: k.daemonSet('agent', [small('agent')]) + k.withNamespace('kube-system'),
    once: k.job('once', [small('once')]),
    backup:
      k.cronJob('backup', '0 3 * * *', [small('backup')])
      + k.withServiceAccount('web')
      + k.withContainers(k.withResources({ cpu: '1' }))
      + k.withPodLabels({ tier: 'batch' }),
    chart: k.helmTemplate('plain', 'charts/plain'),
    documents: k.parseYaml(importstr 'documents.yaml'),
    other: k.object('scheduling.k8s.io/v1', 'PriorityClass', 'high') + { value: 1000 },
    off: if params.replicas > 100 then k.configMap('never'),
  }, k.withLabels({ team: 'web' }), ['Deployment', 'StatefulSet', 'PriorityClass'])
