import { lookup } from 'node:dns/promises'
import { Agent } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { selfSigned } from '../../base/certificate.ts'
import { statusIn } from '../../base/client-formats.ts'
import { formats } from '../../base/recorded-traffic.ts'
import { type Check, type Profile, someVariantsOf, variantName, variantsOf } from '../check.ts'
import { exchange } from '../client.ts'
import { ms, percentile, tally } from '../measurements.ts'
import { readError } from '../read-responses.ts'
import { timeOthers } from './time-limits.ts'

const host = 'modelgate-secret-host.invalid'
/** An invalid name that needs no resolver: labels have at most 63 characters. */
const impossible = `${'x'.repeat(64)}.invalid`

const listening = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

/** Returns unreachable addresses by the kind of failure. */
async function badAddresses(plainPort: number): Promise<{ places: Record<string, string>; close(): void }> {
  const gone = createServer()
  const refusing = await listening(gone)
  await new Promise((resolve) => gone.close(resolve))
  const distrusted = createTlsServer(selfSigned('127.0.0.1'), (socket) => socket.destroy())
  // A client that rejects the certificate.
  distrusted.on('tlsClientError', () => {})
  return {
    places: {
      'a refused port': `http://127.0.0.1:${refusing}`,
      'an unknown name': `http://${host}`,
      'an impossible name': `http://${impossible}`,
      'TLS to a plain-text port': `https://127.0.0.1:${plainPort}`,
      'a self-signed certificate': `https://127.0.0.1:${await listening(distrusted)}`,
    },
    close: () => void distrusted.close(),
  }
}

/** Patterns that reveal the upstream's address or the internal error. */
const telling =
  /127\.0\.0\.1|localhost|\.invalid|x{60}|:\d{4,5}\b|\bE(CONN|NOTFOUND|AI_AGAIN|PROTO)|\bSSL|certificate|\bnode:/

const budgetMs = 50

/** An upstream that cannot be reached, with default retries. */
export const unreachable: Check = {
  row: 13,
  group: 'Faults',
  title: 'Refused, DNS, TLS failure',
  promise: '502 < 50 ms (+ DNS time), dialect shape, no internal host in the text',
  async run({ target: { local, name: gateway }, upstream, count, fresh }) {
    if (local === undefined) return { skipped: `the upstream addresses of ${gateway} cannot be configured` }
    const { places, close } = await badAddresses(upstream.port)
    // Keep-alive, like real clients.
    const agent = new Agent({ keepAlive: true })
    try {
      const since = performance.now()
      await lookup(host).catch(() => undefined)
      const dnsMs = performance.now() - since
      const upstreams: NonNullable<Profile['upstreams']> = Object.fromEntries(
        Object.values(places).flatMap((baseURL, place) =>
          formats.map((format) => [`bad-${place}-${format}`, { format, baseURL }]),
        ),
      )
      const target = await fresh({
        retry: { budgetFloor: 1_000_000 },
        upstreams,
        models: Object.fromEntries(Object.keys(upstreams).map((key) => [key, key])),
      })
      if (target === undefined) throw new Error('the gateway could not be started')
      const others = timeOthers(target)
      const complaints: string[] = []
      const figures: string[] = []
      let total = 0
      let delayed = 0
      for (const [place, [what, baseURL]] of Object.entries(places).entries()) {
        const times: number[] = []
        // A resolver that loses a packet takes seconds, so it is measured less often.
        const byResolver = baseURL.includes(host)
        const rounds = count(byResolver ? 2 : 10, 1)
        const ways = byResolver ? someVariantsOf(target) : variantsOf(target)
        // The first round pays for lazily loaded modules: it is checked, but not timed.
        for (let round = 0; round <= rounds; round++)
          for (const way of ways) {
            const model = `bad-${place}-${way.upstream}`
            const answer = await exchange(target, { ...way, model, text: 'Hello' }, { agent })
            const name = `${what}: ${variantName(way)}`
            total++
            if (round > 0) times.push(answer.endMs)
            if (answer.status !== statusIn(way.client, 502))
              complaints.push(`${name}: returned status ${answer.status || answer.broken}`)
            else if (readError(way.client, answer) === undefined) complaints.push(`${name}: not in the dialect`)
            else if (telling.test(answer.text)) complaints.push(`${name}: reveals internals: ${answer.text}`)
          }
        // A connection that fails at once is retried once: the name is resolved twice. With a resolver, only the
        // median counts.
        if (byResolver) delayed += percentile(times, 0.5) > budgetMs + 2 * dnsMs ? times.length : 0
        else delayed += times.filter((time) => time > budgetMs).length
        figures.push(`${what} p50 ${ms(percentile(times, 0.5))}, most ${ms(Math.max(...times))}`)
      }
      return {
        held: complaints.length === 0 && delayed === 0,
        late: complaints.length === 0,
        figure: `${total - complaints.length}/${total} answered 502, ${delayed} late; ${figures.join('; ')}; DNS ${ms(dnsMs)}`,
        notes: [...tally(complaints), (await others()).text],
      }
    } finally {
      agent.destroy()
      close()
    }
  },
}
