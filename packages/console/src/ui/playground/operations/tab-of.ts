import type { Operation } from '@modelgate/core'
import type { TabId } from './tabs.ts'

const tabs: Partial<Readonly<Record<Operation, TabId>>> = {
  generate: 'chat',
  embeddings: 'embeddings',
  images: 'images',
  'image-edits': 'images',
  speech: 'speech',
  transcriptions: 'transcription',
  rerank: 'rerank',
}

/** Returns the tab of the Playground that makes calls of an operation. Undefined: there is none. */
export const tabOf = (operation: Operation | undefined): TabId | undefined =>
  operation === undefined ? undefined : tabs[operation]
