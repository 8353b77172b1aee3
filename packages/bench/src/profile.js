// CPU profiles of the compared servers: where each of them spends the CPU time of a call, by part and by function.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { SourceMap } from 'node:module'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @typedef {{ functionName: string, url: string, lineNumber: number, columnNumber: number }} Frame */
/** @typedef {{ nodes: { id: number, callFrame: Frame }[], samples?: number[] | undefined, timeDeltas?: number[] | undefined }} Profile */
/** @typedef {{ [name: string]: number }} Shares share of the CPU time by name; all shares add up to 1 */
/** @typedef {{ parts: Shares, functions: Shares }} Costs */

const folder = fileURLToPath(new URL('../profiles', import.meta.url))
/** Microseconds between two samples. */
const interval = 200

/** @type {Session | undefined} */
let session

/** In a server: starts to sample it. */
export async function startProfile() {
  session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval })
  await session.post('Profiler.start')
}

/** In a server: ends the profile, writes it to the folder `profiles` and returns what it shows. @returns {Promise<Costs>} */
export async function stopProfile() {
  const result = await session?.post('Profiler.stop')
  session?.disconnect()
  if (result === undefined) throw new Error('no profile was started')
  mkdirSync(folder, { recursive: true })
  writeFileSync(`${folder}/${basename(process.argv[1] ?? '', '.js')}.cpuprofile`, JSON.stringify(result.profile))
  return costsOf(result.profile)
}

/** @param {Profile} profile @returns {Costs} */
function costsOf({ nodes, samples = [], timeDeltas = [] }) {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  /** @type {Shares} */
  const parts = {}
  /** @type {Shares} */
  const functions = {}
  let total = 0
  samples.forEach((id, i) => {
    const frame = frames.get(id)
    const time = timeDeltas[i] ?? 0
    if (frame === undefined || frame.functionName === '(idle)') return
    const source = sourceOf(frame)
    const name = `${frame.functionName || '(anonymous)'} ${source}`.trim()
    functions[name] = (functions[name] ?? 0) + time
    const part = partOf(frame, source)
    parts[part] = (parts[part] ?? 0) + time
    total += time
  })
  for (const shares of [parts, functions]) for (const name in shares) shares[name] = (shares[name] ?? 0) / total
  return { parts, functions }
}

/** @param {Frame} frame @param {string} source */
function partOf({ functionName, url }, source) {
  if (functionName === '(garbage collector)') return 'garbage collection'
  // System calls of sockets are native functions.
  if (url === '') return /^write|^shutdown/.test(functionName) ? 'socket writes' : 'native code of Node'
  if (url.startsWith('node:')) return 'JavaScript of Node'
  if (url.startsWith('wasm:') || url.includes('/undici/')) return 'undici'
  if (url.includes('/bench/src/')) return 'the proxy’s own code'
  const [, name = 'other', folder = ''] = /^packages\/([a-z-]+)\/src\/(?:([a-z]+)\/)?/.exec(source) ?? []
  return name === 'core' ? `core/${folder}` : name
}

/** @type {Map<string, SourceMap | null>} */
const maps = new Map()

/** @param {string} url */
function mapOf(url) {
  let map = maps.get(url)
  if (map === undefined) {
    const file = url.startsWith('file://') ? `${fileURLToPath(url)}.map` : ''
    map = existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : null
    maps.set(url, map)
  }
  return map
}

/** Returns the file and line of a function in the sources. @param {Frame} frame */
function sourceOf({ url, lineNumber, columnNumber }) {
  const entry = mapOf(url)?.findEntry(lineNumber, columnNumber)
  if (entry !== undefined && 'originalSource' in entry) {
    const file = fileURLToPath(new URL(entry.originalSource, url))
    return `${file.slice(file.indexOf('packages/'))}:${entry.originalLine + 1}`
  }
  if (url === '') return ''
  return `${url.includes('node_modules') ? url.split('node_modules/').at(-1) : basename(url)}:${lineNumber + 1}`
}

/**
 * Compares two servers: microseconds per call by part, and each part's share of the difference.
 *
 * @param {{ costs: Costs, cpuMicros: number }} ours @param {{ costs: Costs, cpuMicros: number }} theirs
 */
export function differenceByPart(ours, theirs) {
  const difference = ours.cpuMicros - theirs.cpuMicros
  const microsOf = (/** @type {typeof ours} */ { costs, cpuMicros }, /** @type {string} */ part) =>
    (costs.parts[part] ?? 0) * cpuMicros
  return [...new Set([...Object.keys(ours.costs.parts), ...Object.keys(theirs.costs.parts)])]
    .map((part) => ({ part, mine: microsOf(ours, part), other: microsOf(theirs, part) }))
    .sort((a, b) => b.mine - b.other - (a.mine - a.other))
    .map(({ part, mine, other }) => ({
      part,
      'gateway, µs': mine.toFixed(1),
      'compared, µs': other.toFixed(1),
      'difference, µs': (mine - other).toFixed(1),
      'share of the difference': `${(((mine - other) / difference) * 100).toFixed(0)} %`,
    }))
}

/** @param {Costs} costs @param {number} cpuMicros per call @param {number} [count] */
export const topFunctions = ({ functions }, cpuMicros, count = 40) =>
  Object.entries(functions)
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([where, share]) => ({ µs: (share * cpuMicros).toFixed(1), where }))
