import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { clientFormats, isClientFormat } from '../base/client-formats.ts'
import { type Format, formats } from '../base/recorded-traffic.ts'
import type { Check, Pair, Target } from './check.ts'
import { checks } from './checks.ts'
import { hosts } from './hosts.ts'
import { startLocalTarget } from './local-target.ts'
import { otherGateways, type RemoteTargetOptions, remoteTarget } from './remote-target.ts'
import { asJson, line, summary } from './report.ts'
import { torture } from './run.ts'

const help = `Checks every promise of the torture table that is visible from outside, with a misbehaving upstream and misbehaving
clients, and prints a figure for each.

  pnpm torture                      Modelgate, mounted in each of: ${Object.keys(hosts).join(', ')}
  pnpm torture --server express     mounted in one of them (several: separate with commas)
  pnpm torture --target bare        a minimal pass-through proxy, for comparison
  pnpm torture --target portkey     Portkey, fetched from npm
  pnpm torture --target URL --upstream-port 9999 …
                                    any running gateway, configured with the upstreams http://127.0.0.1:9999 (messages,
                                    generateContent) and http://127.0.0.1:9999/v1 (chat completions, responses)
    --token T                       bearer token
    --header 'name: value'          sent with every call; repeatable
    --pairs chat>chat,chat>messages client format > upstream format; default: all without ollama
    --model chat=gpt-5              model that routes to an upstream of a format; repeatable; default: chat-model, …
    --pid N                         the gateway's process, for memory and open files

  --short           fewer repetitions (used in CI)
  --only 4,7        only these rows
  --per-server      only rows that depend on the server
  --json FILE       write all figures as JSON
  --list            print the rows with their promises

Exits with 1 if a row failed for a gateway that this command started.`

const { values } = parseArgs({
  options: {
    server: { type: 'string' },
    target: { type: 'string' },
    'upstream-port': { type: 'string' },
    token: { type: 'string' },
    header: { type: 'string', multiple: true },
    pairs: { type: 'string' },
    model: { type: 'string', multiple: true },
    pid: { type: 'string' },
    short: { type: 'boolean' },
    only: { type: 'string' },
    'per-server': { type: 'boolean' },
    json: { type: 'string' },
    list: { type: 'boolean' },
    help: { type: 'boolean' },
  },
})

const fail = (message: string): never => {
  console.error(`torture: ${message}`)
  process.exit(2)
}

const isFormat = (word: string): word is Format => (formats as readonly string[]).includes(word)

function readPairs(text: string): Pair[] {
  return text.split(',').map((pair) => {
    const [client = '', upstream = ''] = pair.split('>')
    if (!isClientFormat(client) || !isFormat(upstream))
      return fail(
        `Invalid value '${pair}' of --pairs. Expected a pair such as chat>messages (formats: ${clientFormats.join(', ')})`,
      )
    return { client, upstream }
  })
}

/** Parses repeated options of the form `key=value` or `key: value`. */
function readMap(texts: readonly string[] | undefined, separator: string, option: string): Record<string, string> {
  return Object.fromEntries(
    (texts ?? []).map((text) => {
      const at = text.indexOf(separator)
      return at > 0
        ? [text.slice(0, at).trim(), text.slice(at + 1).trim()]
        : fail(`Invalid value '${text}' of ${option}: missing '${separator}'`)
    }),
  )
}

function readForeign(url: string): RemoteTargetOptions {
  if (!URL.canParse(url))
    fail(`Invalid value '${url}' of --target. Expected a URL or one of ${Object.keys(otherGateways).join(', ')}`)
  if (values['upstream-port'] === undefined)
    fail('Missing --upstream-port: the port that your gateway sends its calls to')
  return {
    url,
    headers: readMap(values.header, ':', '--header'),
    models: readMap(values.model, '=', '--model'),
    ...(values.token === undefined ? {} : { token: values.token }),
    ...(values.pairs === undefined ? {} : { pairs: readPairs(values.pairs) }),
    ...(values.pid === undefined ? {} : { pid: Number(values.pid) }),
  }
}

/** Returns the gateways to check, by name. */
function readTargets(): Record<string, (upstreamOrigin: string) => Promise<Target>> {
  if (values.target !== undefined) {
    const known = otherGateways[values.target]
    if (known !== undefined) return { [values.target]: known }
    const options = readForeign(values.target)
    return { [values.target]: async () => remoteTarget(options) }
  }
  const names = values.server?.split(',') ?? Object.keys(hosts)
  return Object.fromEntries(
    names.map((name) => {
      if (hosts[name] === undefined)
        fail(`Invalid value '${name}' of --server. Expected one of ${Object.keys(hosts).join(', ')}`)
      return [name, (upstreamOrigin: string) => startLocalTarget(name, upstreamOrigin)]
    }),
  )
}

const wanted = values.only?.split(',').map(Number)
const chosen = checks.filter(
  ({ row, perServer }) => (wanted?.includes(row) ?? true) && (values['per-server'] !== true || perServer === true),
)

async function main(): Promise<number> {
  if (values.help === true) {
    console.log(help)
    return 0
  }
  if (values.list === true) {
    for (const { row, title, promise } of chosen) console.log(`${String(row).padStart(2)}  ${title}: ${promise}`)
    return 0
  }
  const short = values.short === true
  const results: object[] = []
  let held = 0
  let fallen = 0
  for (const [place, [name, start]] of Object.entries(readTargets()).entries()) {
    // In the short form, checks that do not depend on the server run on the first one only.
    const rows = short && place > 0 ? chosen.filter((check: Check) => check.perServer === true) : chosen
    console.log(`\n=== ${name}${short ? ' (short form)' : ''}`)
    const came = await torture(start, {
      checks: rows,
      short,
      ...(values['upstream-port'] === undefined ? {} : { upstreamPort: Number(values['upstream-port']) }),
      onRow: (row) => console.log(line(row)),
    })
    // The short form runs on busy machines.
    const lenient = short && values.target === undefined
    const counts = summary(came, lenient)
    const limited = counts.limited === 0 ? '' : ` (${counts.limited} within a limit of Node)`
    const tooSlow = counts.tooLate === 0 ? '' : `, ${counts.tooLate} too late on a machine that may be too noisy`
    console.log(`${name}: ${counts.held} held${limited}, ${counts.short} failed${tooSlow}, ${counts.skipped} skipped`)
    held += counts.held
    fallen += counts.short
    results.push(asJson(name, came, lenient))
  }
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`)
  console.log(`\n${held} held, ${fallen} failed`)
  return fallen > 0 && values.target === undefined ? 1 : 0
}

process.exitCode = await main()
