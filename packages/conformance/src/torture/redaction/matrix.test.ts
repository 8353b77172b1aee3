import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { cohere, createGateway } from '@modelgate/core'
import { nodeListener, nodeUpgrade } from '@modelgate/node'
import { expect, test } from 'vitest'
import { noSharedHealth, upstreamOf } from '../../base/gateways.ts'
import { formats } from '../../base/recorded-traffic.ts'
import { canary } from '../secrets/leaks.ts'
import { providers } from './endpoints.ts'
import { runMatrix } from './matrix.ts'
import { startMatrixUpstream } from './upstream.ts'

const token = 'client-token-of-the-matrix'

test('no operation reveals the key or the address of its upstream outside of content', async () => {
  const upstream = await startMatrixUpstream()
  const keys = Object.fromEntries(providers.map((provider) => [provider, canary('sk')]))
  const keyOf = (provider: string): string => keys[provider] ?? ''
  const gateway = createGateway<string>({
    auth: (credential) => (credential === token ? { id: 'matrix' } : null),
    upstreams: {
      ...Object.fromEntries(formats.map((format) => [format, upstreamOf(format, upstream.origin, keyOf(format))])),
      cohere: cohere({ baseURL: upstream.origin, apiKey: keyOf('cohere') }),
    },
    models: Object.fromEntries(providers.map((provider) => [`matrix-${provider}-*`, provider])),
    logger: false,
    retry: false,
    breaker: false,
    health: noSharedHealth,
  })
  const server = createServer(nodeListener(gateway)).on('upgrade', nodeUpgrade(gateway))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const { held, total, same, sameTotal, complaints } = await runMatrix(
      { origin, token, upstream, keys },
      { spellings: 1, every: 7 },
    )
    expect(complaints.slice(0, 20)).toEqual([])
    expect([held, same]).toEqual([total, sameTotal])
    expect(total).toBeGreaterThan(1500)
  } finally {
    await gateway.close({ graceMs: 0 })
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await upstream.close()
  }
}, 120_000)
