import { describe, expect, it } from 'vitest'
import { workspaceDirs } from '../base/workspace.mjs'
import { tableIn } from '../documentation/generated-table.ts'
import { read } from '../documentation/pages.mjs'
import {
  cyclesIn,
  describeEdge,
  entriesOf,
  type Graph,
  importsOf,
  type Layer,
  layerOf,
  layersOf,
  readGraph,
  upwardImports,
} from './imports.mjs'
import { layerTable } from './layer-table.ts'

const packages = workspaceDirs(['packages']).map((dir) => dir.slice('packages/'.length))

/** Returns the imports within a cycle, one per pair of files. */
function edgesWithin({ edges }: Graph, cycle: readonly string[]): string[] {
  return edges.filter(({ from, to }) => cycle.includes(from) && cycle.includes(to)).map(describeEdge)
}

describe.each(packages)('the sources of %s', (name) => {
  const graph = readGraph(name)
  const layers = layersOf[name] ?? []

  it('have no import cycles, type imports included', () => {
    const cycles = cyclesIn(graph).map((cycle) => edgesWithin(graph, cycle))
    expect(cycles, 'Move what both files need to a file of its own in a lower layer.').toEqual([])
  })

  it('belong to a layer of layers.json each', () => {
    const without = graph.files.filter((file) => layerOf(layers, file) < 0)
    expect(without, 'Move the file to a folder that is a layer, or declare its entry in layers.json.').toEqual([])
    const known = new Set(['*', ...entriesOf(graph)])
    const gone = layers.flatMap(({ entries }) => entries).filter((entry) => !known.has(entry))
    expect(gone, 'Remove the entry from layers.json.').toEqual([])
  })

  it('import their own and lower layers only', () => {
    const upward = upwardImports(graph, layers).map(describeEdge)
    expect(
      upward,
      'Move the imported name to the lower layer, or pass it to the importing function as an argument.',
    ).toEqual([])
  })
})

describe('the sources of core', () => {
  it('have at most 12 top-level entries', () => {
    expect(entriesOf(readGraph('core')).length).toBeLessThanOrEqual(12)
  })
})

describe('docs/architecture.md', () => {
  it('shows the layers of core that layers.json declares', () => {
    const fromData = layerTable(layersOf.core ?? [])
    expect(tableIn('docs/architecture.md', 'layers', fromData)).toBe(fromData)
    expect(read('docs/architecture.md')).toContain('npm run structure')
  })
})

describe('the checks of structure', () => {
  const edge = (from: string, to: string) => ({ from, to, names: ['x'] })
  const layers: readonly Layer[] = [
    { entries: ['base'], holds: '' },
    { entries: ['*'], holds: '' },
    { entries: ['index.ts'], holds: '' },
  ]

  it('find a cycle through three files, and no cycle where files share an import', () => {
    const files = ['a.ts', 'b.ts', 'c.ts', 'd.ts']
    const edges = [edge('a.ts', 'b.ts'), edge('b.ts', 'c.ts'), edge('a.ts', 'c.ts'), edge('d.ts', 'c.ts')]
    expect(cyclesIn({ files, edges })).toEqual([])
    const [cycle, ...others] = cyclesIn({ files, edges: [...edges, edge('c.ts', 'a.ts')] })
    expect(cycle?.toSorted()).toEqual(['a.ts', 'b.ts', 'c.ts'])
    expect(others).toEqual([])
  })

  it('find an import of a higher layer', () => {
    const edges = [edge('base/x.ts', 'call.ts'), edge('call.ts', 'base/x.ts'), edge('base/x.ts', 'index.ts')]
    const files = ['base/x.ts', 'call.ts', 'index.ts']
    expect(upwardImports({ files, edges }, layers).map(describeEdge)).toEqual([
      'base/x.ts imports x from call.ts',
      'base/x.ts imports x from index.ts',
    ])
  })

  it.each([
    ["import type { A } from './a.ts'", ['A']],
    ["import { type A, b as c } from './a.ts'", ['A', 'b']],
    ["export { d } from './a.ts'", ['d']],
    ["export type Late = import('./a.ts').A", ['import()']],
    ["export const late = () => import('./a.ts')", ['import()']],
    ["import * as all from './a.ts'", ['*']],
  ])('read the import of %s', (text, names) => {
    expect(importsOf(text, 'b.ts')).toEqual([{ specifier: './a.ts', names }])
  })
})
