// Reads the newest CPU profile of a folder: time by function, mapped to the sources.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** @typedef {{ functionName: string, url: string, lineNumber: number, columnNumber: number }} Frame */

/** @type {Map<string, SourceMap | null>} */
const maps = new Map()

/** @param {string} url */
function mapOf(url) {
  let map = maps.get(url)
  if (map === undefined) {
    const file = url.startsWith('file://') ? `${fileURLToPath(url)}.map` : ''
    map = file !== '' && existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) : null
    maps.set(url, map)
  }
  return map
}

/** @param {Frame} frame */
function place({ functionName, url, lineNumber, columnNumber }) {
  const name = functionName || '(anonymous)'
  if (url === '') return name
  const entry = mapOf(url)?.findEntry(lineNumber, columnNumber)
  if (entry !== undefined && 'originalSource' in entry)
    return `${name} ${entry.originalSource.replace(/^(\.\.\/)+/, '')}:${entry.originalLine + 1}`
  return `${name} ${url.includes('node_modules') ? (url.split('node_modules/').at(-1) ?? '') : basename(url)}:${lineNumber + 1}`
}

/** @param {string} folder @param {number} [count] */
export function topCosts(folder, count = 40) {
  const newest = readdirSync(folder)
    .filter((name) => name.endsWith('.cpuprofile'))
    .sort()
    .at(-1)
  if (newest === undefined) throw new Error(`no profile in ${folder}`)
  /** @type {{ nodes: { id: number, callFrame: Frame }[], samples: number[], timeDeltas: number[] }} */
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(folder, newest), 'utf8'))
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, place(callFrame)]))
  /** @type {Map<string, number>} */
  const self = new Map()
  samples.forEach((id, i) => {
    const key = frames.get(id) ?? '?'
    self.set(key, (self.get(key) ?? 0) + (timeDeltas[i] ?? 0))
  })
  self.delete('(idle)')
  const total = [...self.values()].reduce((sum, value) => sum + value, 0)
  return [...self]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([where, time]) => ({ 'self %': ((time / total) * 100).toFixed(1), where }))
}
