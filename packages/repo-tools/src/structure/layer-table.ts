import { table } from '../documentation/markdown-table.ts'
import type { Layer } from './imports.mjs'

/** A package's layers as a table of docs/architecture.md, lowest layer first. */
export const layerTable = (layers: readonly Layer[]): string =>
  table(
    ['layer', 'contents'],
    ...layers.map(({ entries, holds }) => [entries.map((entry) => `\`${entry}\``).join(', '), holds]),
  )
