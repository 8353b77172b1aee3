import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createFakeProvider, listen } from '@modelgate/testing'
import { startRedis, withoutRedisToKill } from '@modelgate/tokens/test-support'
import { describe, expect, it, onTestFinished } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { createFolder, send, startServer } from './worker-server.ts'

const inRepository = (path: string): string => fileURLToPath(new URL(`../../../../${path}`, import.meta.url))

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  // biome-ignore lint/suspicious/noExplicitAny: the tests read fields of many kinds of objects.
  readonly spec: any
  readonly data?: Readonly<Record<string, string>>
}

const manifests = parseAllDocuments(readFileSync(inRepository('examples/kubernetes/modelgate.yaml'), 'utf8')).map(
  (document) => document.toJS() as Manifest,
)

function find(kind: string, name = 'modelgate'): Manifest {
  const found = manifests.find((one) => one.kind === kind && one.metadata.name === name)
  if (found === undefined) throw new Error(`modelgate.yaml has no ${kind} '${name}'`)
  return found
}

const pod = find('Deployment').spec.template
const [container] = pod.spec.containers
const env: Readonly<Record<string, string>> = Object.fromEntries(
  container.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
)

describe('examples/kubernetes', { timeout: 60_000 }, () => {
  it('refers only to objects, labels and ports that it defines', () => {
    const ports = (of: { ports: { name: string }[] }) => of.ports.map(({ name }) => name)
    for (const kind of ['Service', 'PodDisruptionBudget']) {
      const { selector } = find(kind).spec
      expect(pod.metadata.labels).toMatchObject(selector.matchLabels ?? selector)
    }
    expect(find('Deployment').spec.selector.matchLabels).toEqual(pod.metadata.labels)
    expect(ports(container)).toContain(find('Service').spec.ports[0].targetPort)
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect(ports(container)).toContain(container[probe].httpGet.port)
    expect(container.ports[0].containerPort).toBe(Number(env.PORT))
    const { spec } = find('HorizontalPodAutoscaler')
    expect(spec.scaleTargetRef).toMatchObject({ kind: 'Deployment', name: find('Deployment').metadata.name })
    expect(spec.minReplicas).toBe(find('Deployment').spec.replicas)
    expect(find('PodDisruptionBudget').spec.minAvailable).toBeLessThan(spec.minReplicas)
    const redis = new URL(env.MODELGATE_REDIS ?? '')
    expect(find('Service', redis.hostname).spec.ports[0].port).toBe(Number(redis.port))
    const volumes = pod.spec.volumes.map(({ name }: { name: string }) => name)
    expect(container.volumeMounts.map(({ name }: { name: string }) => name)).toEqual(volumes)
  })

  it('gives a process the time for its hook and its shutdown', () => {
    const hookSeconds = Number(container.lifecycle.preStop.exec.command[1])
    expect(pod.spec.terminationGracePeriodSeconds).toBeGreaterThan(hookSeconds + 30)
  })

  it.skipIf(withoutRedisToKill !== undefined)(
    `starts processes that share tokens and their limits${withoutRedisToKill === undefined ? '' : ` (skipped: ${withoutRedisToKill})`}`,
    async () => {
      const redis = await startRedis()
      const upstream = await listen(createFakeProvider({ apiKey: 'k', keepRequests: 0 }))
      onTestFinished(async () => {
        await upstream.close()
        await redis.close()
      })
      const [[file = '', text = ''] = []] = Object.entries(find('ConfigMap').data ?? {})
      const config = JSON.parse(text) as { upstreams: { openai: object } }
      Object.assign(config.upstreams.openai, { baseURL: upstream.url })
      const folder = createFolder(config)
      mkdirSync(join(folder.path, 'node_modules'))
      symlinkSync(inRepository('packages/tokens/node_modules/redis'), join(folder.path, 'node_modules/redis'))
      const ofPod = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k', MODELGATE_REDIS: redis.url }
      const args: string[] = container.args.map((arg: string) => (arg.endsWith(file) ? file : arg))
      const servers = await Promise.all([0, 1].map(() => startServer(folder, args, ofPod)))
      for (const { origin } of servers)
        for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe])
          expect((await send(origin, probe.httpGet.path, '')).status).toBe(200)
      const issued = folder.runWith(
        ofPod,
        'tokens',
        'issue',
        '--name',
        'laptop',
        '--requests-per-minute',
        '6',
        '--json',
      )
      const { secret } = JSON.parse(issued) as { secret: string }
      const calls = Array.from({ length: 10 }, (_, n) =>
        send(servers[n % 2]?.origin ?? '', '/v1/chat/completions', secret, {
          model: 'gpt-5',
          messages: [{ role: 'user', content: 'Say hello.' }],
        }),
      )
      const statuses = (await Promise.all(calls)).map(({ status }) => status).sort()
      expect(statuses).toEqual([...Array(6).fill(200), ...Array(4).fill(429)])
      for (const { child } of servers) child.kill('SIGTERM')
      expect(await Promise.all(servers.map(({ ended }) => ended))).toEqual([0, 0])
    },
  )
})
