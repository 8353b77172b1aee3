import { type Check, callers } from '../check.ts'
import { tally } from '../figures.ts'
import { canary } from '../secrets/leaks.ts'
import { providers } from './endpoints.ts'
import { runMatrix } from './matrix.ts'
import { startMatrixUpstream } from './upstream.ts'

/** An upstream's secrets are no part of any answer, wherever and however the upstream writes them down. */
const redaction: Check = {
  row: 46,
  group: 'Auth and secrets',
  title: 'Redaction matrix: every operation × every place beside content × every spelling of the upstream’s key',
  promise: '0 bytes of keys in any answer, no address in any error, content byte for byte as it came',
  async run({ short, fresh }) {
    const upstream = await startMatrixUpstream()
    try {
      const keys = Object.fromEntries(providers.map((provider) => [provider, canary('sk')]))
      const target = await fresh({
        upstreams: Object.fromEntries(
          providers.map((provider) => [
            `matrix-${provider}`,
            { format: provider, baseURL: upstream.origin, apiKey: keys[provider] as string },
          ]),
        ),
        models: Object.fromEntries(providers.map((provider) => [`matrix-${provider}-*`, `matrix-${provider}`])),
      })
      if (target === undefined) return { skipped: 'needs a gateway whose upstreams can be configured' }
      const found = await runMatrix(
        { origin: target.origin, token: callers.alice, upstream, keys },
        short ? { spellings: 1, every: 3 } : {},
      )
      const { held, total, same, sameTotal, complaints } = found
      return {
        held: held === total && same === sameTotal,
        figure: `${held}/${total} answers without a part of the key or the address, ${same}/${sameTotal} good answers byte for byte`,
        notes: tally([...complaints]),
      }
    } finally {
      await upstream.close()
    }
  },
}

export const redactionChecks: readonly Check[] = [redaction]
