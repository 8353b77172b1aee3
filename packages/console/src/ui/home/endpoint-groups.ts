import type { Endpoint } from '../../info.ts'

export interface Group {
  readonly title: string
  readonly endpoints: readonly Endpoint[]
}

/** Groups in display order; an operation without a group goes to the last. */
const groups: readonly { readonly title: string; readonly has: (operation: string) => boolean }[] = [
  { title: 'Generation', has: (operation) => operation === 'generate' || operation === 'completions' },
  { title: 'Models', has: (operation) => /-models?$/.test(operation) },
  { title: 'Token counting', has: (operation) => operation === 'count-tokens' },
  { title: 'Stored responses', has: (operation) => /response|input-items/.test(operation) },
  {
    title: 'Embeddings, rerank, moderation',
    has: (operation) => /^(?:embeddings|rerank|moderations)$/.test(operation),
  },
  { title: 'Images', has: (operation) => operation.startsWith('image') },
  {
    title: 'Audio and realtime',
    has: (operation) => /^(?:transcriptions|translations|speech|realtime)/.test(operation),
  },
  { title: 'Others', has: () => true },
]

/** Groups endpoints by purpose and leaves out empty groups. */
export const groupsOf = (endpoints: readonly Endpoint[]): readonly Group[] =>
  groups
    .map(({ title, has }, i) => ({
      title,
      endpoints: endpoints.filter(
        ({ operation }) => has(operation) && !groups.slice(0, i).some((earlier) => earlier.has(operation)),
      ),
    }))
    .filter((group) => group.endpoints.length > 0)
