import { Agent, request } from 'node:http'
import type { ModelRoute } from '@modelgate/core'
import { clientFormatRows } from '../../base/client-formats.ts'
import { sendGoodResponse } from '../../base/upstream-responses.ts'
import type { Check, Pair, Target } from '../check.ts'
import { exchange, headersFor } from '../client.ts'
import { ms, percentile, tally } from '../measurements.ts'
import { readError } from '../read-responses.ts'
import { retryWhileSlow } from './watch-process.ts'

/** Names with a meaning in patterns, prototypes, paths, headers, logs and databases. */
const hostile: Readonly<Record<string, string>> = {
  'one star': '*',
  'many stars': '*'.repeat(200),
  'a known name and a star': 'chat-model*',
  'a pattern that matches all': '.*',
  'a pattern that is slow': `${'(a+)+'.repeat(20)}$`,
  'open brackets': '[({'.repeat(60),
  backslashes: '\\'.repeat(200),
  'two hundred of a letter': 'a'.repeat(200),
  'the longest that is known': 'a'.repeat(256),
  'one longer': 'a'.repeat(257),
  'a hundred thousand': 'a'.repeat(100_000),
  'a hundred thousand stars': '*a'.repeat(50_000),
  __proto__: '__proto__',
  constructor: 'constructor',
  toString: 'toString',
  hasOwnProperty: 'hasOwnProperty',
  'a path': '../../etc/passwd',
  'an encoded path': '..%2f..%2fetc%2fpasswd',
  'a URL': 'http://169.254.169.254/latest',
  'another host': '@evil.example:80/x',
  'a query': 'chat-model?key=1#x',
  'a line break': 'chat-model\r\nx-injected: 1',
  'a NUL': 'chat-model\u0000x',
  'half a character': 'chat-model \ud83d',
  'right to left': '\u202echat-model',
  'a look-alike': 'сhat-model',
  'another case': 'CHAT-MODEL',
  blanks: '   ',
  'a blank behind': 'chat-model ',
  'a template': '{{7*7}}#{7*7}<%= 7*7 %>',
  SQL: "' OR 1=1 --",
  HTML: '<script>alert(1)</script>',
}

/**
 * Patterns on which a backtracking regular expression would run forever, with a name that does not match. A matcher
 * that splits at the stars reads the name only a few times.
 */
const globs: Readonly<Record<string, string>> = {
  '*a*a*a*a*b': 'a'.repeat(256),
  '*a*a*a*a*a*a*a*a*a*a*a*a*b': 'a'.repeat(256),
  [`${'*a'.repeat(100)}*b`]: 'a'.repeat(256),
  [`${'*ab'.repeat(60)}c*`]: 'ab'.repeat(128),
  [`${'a*'.repeat(120)}c`]: `${'a'.repeat(255)}b`,
  [`x${'*'.repeat(100)}x`]: `${'x'.repeat(255)}y`,
  '(a+)+$*': `${'a'.repeat(250)}!`,
  '[a-z]*.*\\d+*': 'q'.repeat(256),
}

/** Milliseconds that a name may take longer than a plain one. */
const within = 1

/** Returns true if a request line can contain the name: it has a length limit, and no lone surrogates. */
const fitsInPath = (name: string): boolean => name.length < 10_000 && !name.endsWith('\ud83d')

/** Measures two calls alternately. The fastest of each show the gateway's own time, independent of other load. */
async function quickOnes(
  count: number,
  first: () => Promise<unknown>,
  second: () => Promise<unknown>,
): Promise<readonly [number, number]> {
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < count; round++)
    for (const [place, ask] of [first, second].entries()) {
      const begun = performance.now()
      await ask()
      times[place]?.push(performance.now() - begun)
    }
  return [percentile(times[0], 0.1), percentile(times[1], 0.1)]
}

/**
 * Impossible model names and hostile patterns must be rejected like any unknown name, at most a millisecond slower than
 * a plain one, which is measured alternately. Tests next to the router (`route-names.test.ts`) check that no name or
 * pattern becomes a regular expression.
 */
export const hostileNames: Check = {
  row: 32,
  group: 'Input',
  title: 'Hostile globs and model names',
  promise: '< 1 ms each, no RegExp from input',
  async run({ target, upstream, fresh, count }) {
    const complaints: string[] = []
    const slow: string[] = []
    const rounds = count(60, 15)
    const agent = new Agent({ keepAlive: true })
    const clients = [...new Map(target.pairs.map((pair) => [pair.client, pair])).values()]
    const scene = upstream.play(sendGoodResponse)
    let total = 0
    let most = 0

    /**
     * @returns the additional time compared with a plain name of the same length: every parser needs time for a long
     * one
     */
    const excess = async (to: Target, pair: Pair, model: string): Promise<number> => {
      const ask = (name: string) => () => exchange(to, { ...pair, text: scene.marker, model: name }, { agent })
      const [took, plain] = await quickOnes(rounds, ask(model), ask('n'.repeat(model.length)))
      return took - plain
    }
    const timed = async (what: string, to: Target, pair: Pair, model: string): Promise<void> => {
      const took = await retryWhileSlow(
        () => excess(to, pair, model),
        (excessMs) => excessMs <= within,
      )
      most = Math.max(most, took)
      if (took > within) slow.push(`${what}: takes ${ms(took)} longer than a plain name`)
    }

    for (const pair of clients)
      for (const [name, model] of Object.entries(hostile)) {
        if (clientFormatRows[pair.client].inPath && !fitsInPath(model)) continue
        const what = `${pair.client}, ${name}`
        const calls = scene.calls.length
        const answer = await exchange(target, { ...pair, text: scene.marker, model }, { agent })
        total++
        if (scene.calls.length > calls) complaints.push(`${what}: reached the upstream`)
        else if (answer.status < 400 || answer.status >= 500)
          complaints.push(`${what}: returned status ${answer.status}`)
        else if (readError(pair.client, answer) === undefined) complaints.push(`${what}: not in the dialect`)
        else if (answer.text.length > 1000) complaints.push(`${what}: repeated in ${answer.text.length} characters`)
        else if (answer.headers['x-injected'] !== undefined) complaints.push(`${what}: it became a header`)
        await timed(what, target, pair, model)
      }
    for (const name of Object.values(hostile).filter(fitsInPath)) {
      // The model list accepts names too.
      const status = await get(target, `/v1/models/${encodeURIComponent(name)}`)
      total++
      if (status < 400 || status >= 500) complaints.push(`/v1/models/${name.slice(0, 40)}: returned status ${status}`)
    }

    const models = Object.fromEntries(Object.keys(globs).map((pattern): [string, ModelRoute] => [pattern, 'chat']))
    const configured = await fresh({ models })
    const chat = clients.find(({ client }) => client === 'chat')
    let patterns = 0
    if (configured !== undefined && chat !== undefined)
      for (const [pattern, name] of Object.entries(globs)) {
        patterns++
        // Each of the other names is tested with it as well.
        await timed(`the pattern ${pattern.slice(0, 40)}`, configured, chat, name)
      }
    scene.end()
    agent.destroy()
    return {
      held: complaints.length === 0 && slow.length === 0,
      late: complaints.length === 0,
      figure:
        `${total} hostile names, ${complaints.length + slow.length} complaints; at most ${ms(Math.max(0, most))} longer than a plain name` +
        `${patterns > 0 ? `, with ${patterns} hostile patterns configured too` : ''}`,
      notes: tally([...complaints, ...slow]),
    }
  },
}

function get(target: Target, path: string): Promise<number> {
  const [pair] = target.pairs
  const headers = pair === undefined ? {} : headersFor(target, { ...pair, text: '' })
  return new Promise((resolve) => {
    const outgoing = request(`${target.origin}${path}`, { headers, agent: false }, (incoming) => {
      incoming.resume().on('end', () => resolve(incoming.statusCode ?? 0))
    })
    outgoing.on('error', () => resolve(0))
    outgoing.end()
  })
}
