import { type ReferenceScheme, referencePlaces } from '@modelgate/core/test-support'
import { table } from '../markdown-table.ts'

/** Returns the table of references to stored state by format, with their places in the request. Shows the first of Google's two spellings. */
export function referenceTable(): string {
  const rows = (Object.keys(referencePlaces) as ReferenceScheme[]).flatMap((scheme) => {
    const places = new Map<string, string[]>()
    for (const { kind, path } of referencePlaces[scheme]) {
      if (isOtherSpelling(scheme, path)) continue
      places.set(kind, [...(places.get(kind) ?? []), `\`${path}\``])
    }
    return [...places].map(([kind, paths]) => [scheme, `\`${kind}\``, paths.join(', ')])
  })
  return table(['request', 'kind', 'where'], ...rows)
}

const google: ReadonlySet<ReferenceScheme> = new Set<ReferenceScheme>(['gemini', 'embeddings'])
const isOtherSpelling = (scheme: ReferenceScheme, path: string): boolean =>
  google.has(scheme) && (path.includes('_') || path.startsWith('generateContentRequest'))
