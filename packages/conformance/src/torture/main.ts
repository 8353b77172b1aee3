import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Format, formats } from '../base/recorded-traffic.ts'
import type { Check, Pair, Target } from './check.ts'
import { checks } from './checks.ts'
import { hosts } from './hosts.ts'
import { startOwn } from './local-target.ts'
import { type ForeignOptions, foreign, others } from './remote-target.ts'
import { asJson, line, summary } from './report.ts'
import { torture } from './run.ts'

const help = `Asks a gateway for every promise of ours that can be told from outside, with an upstream and clients that misbehave,
and prints a figure for each.

  pnpm torture                      Modelgate, mounted in each of: ${Object.keys(hosts).join(', ')}
  pnpm torture --server express     in one of them (several: commas between)
  pnpm torture --target bare        a proxy that does nothing but pass on
  pnpm torture --target portkey     Portkey, fetched from npm
  pnpm torture --target URL --upstream-port 9999 …
                                    any gateway that you started; its upstreams are to be http://127.0.0.1:9999 (messages,
                                    generateContent) and http://127.0.0.1:9999/v1 (chat completions, responses)
    --token T                       sent as a bearer token
    --header 'name: value'          sent with every call; may be repeated
    --pairs chat>chat,chat>messages client format > upstream format; default: all sixteen
    --model chat=gpt-5              what to ask for to reach an upstream of a format; may be repeated; default: chat-model, …
    --pid N                         its process, for memory and open files

  --short           fewer of the same (what CI runs)
  --only 4,7        only these rows
  --per-server      only the rows in which the server has a part
  --json FILE       all figures, for machines
  --list            the rows and their promises

Ends with 1 if a row of a gateway of our own fell short.`

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
    if (!isFormat(client) || !isFormat(upstream))
      return fail(`--pairs: '${pair}' is no pair such as chat>messages (formats: ${formats.join(', ')})`)
    return { client, upstream }
  })
}

/** `key=value` or `key: value`, as many as were given. */
function readMap(texts: readonly string[] | undefined, separator: string, option: string): Record<string, string> {
  return Object.fromEntries(
    (texts ?? []).map((text) => {
      const at = text.indexOf(separator)
      return at > 0
        ? [text.slice(0, at).trim(), text.slice(at + 1).trim()]
        : fail(`${option}: '${text}' has no '${separator}'`)
    }),
  )
}

function readForeign(url: string): ForeignOptions {
  if (!URL.canParse(url)) fail(`--target: '${url}' is neither a URL nor one of ${Object.keys(others).join(', ')}`)
  if (values['upstream-port'] === undefined) fail('--upstream-port is missing: where your gateway sends its calls')
  return {
    url,
    headers: readMap(values.header, ':', '--header'),
    models: readMap(values.model, '=', '--model'),
    ...(values.token === undefined ? {} : { token: values.token }),
    ...(values.pairs === undefined ? {} : { pairs: readPairs(values.pairs) }),
    ...(values.pid === undefined ? {} : { pid: Number(values.pid) }),
  }
}

/** Whom to ask, by name. */
function readTargets(): Record<string, (upstreamOrigin: string) => Promise<Target>> {
  if (values.target !== undefined) {
    const known = others[values.target]
    if (known !== undefined) return { [values.target]: known }
    const options = readForeign(values.target)
    return { [values.target]: async () => foreign(options) }
  }
  const names = values.server?.split(',') ?? Object.keys(hosts)
  return Object.fromEntries(
    names.map((name) => {
      if (hosts[name] === undefined) fail(`--server: '${name}' is none of ${Object.keys(hosts).join(', ')}`)
      return [name, (upstreamOrigin: string) => startOwn(name, upstreamOrigin)]
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
    // Checks independent of the server run on the first one only, in the short form.
    const rows = short && place > 0 ? chosen.filter((check: Check) => check.perServer === true) : chosen
    console.log(`\n=== ${name}${short ? ' (short form)' : ''}`)
    const came = await torture(start, {
      checks: rows,
      short,
      ...(values['upstream-port'] === undefined ? {} : { upstreamPort: Number(values['upstream-port']) }),
      onRow: (row) => console.log(line(row)),
    })
    // The short form runs where other things run as well.
    const lenient = short && values.target === undefined
    const counts = summary(came, lenient)
    const limited = counts.limited === 0 ? '' : ` (${counts.limited} within a limit of Node's)`
    const late = counts.late === 0 ? '' : `, ${counts.late} too late on a machine that may be too noisy to tell`
    console.log(
      `${name}: ${counts.held} held${limited}, ${counts.short} fell short${late}, ${counts.skipped} not asked`,
    )
    held += counts.held
    fallen += counts.short
    results.push(asJson(name, came, lenient))
  }
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`)
  console.log(`\n${held} held, ${fallen} fell short`)
  return fallen > 0 && values.target === undefined ? 1 : 0
}

process.exitCode = await main()
