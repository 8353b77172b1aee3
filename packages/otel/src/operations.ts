/** What the conventions call an operation, and what kind of thing it makes where that is not up to the request. */
interface OperationWords {
  readonly name: string
  readonly output?: 'text' | 'image' | 'speech'
}

/** The gateway's operations. Where the conventions have no word, the gateway's own is written as they write theirs. */
const operations: Readonly<Record<string, OperationWords>> = {
  completions: { name: 'text_completion' },
  embeddings: { name: 'embeddings' },
  images: { name: 'generate_content', output: 'image' },
  'image-edits': { name: 'generate_content', output: 'image' },
  'image-variations': { name: 'generate_content', output: 'image' },
  speech: { name: 'generate_content', output: 'speech' },
  transcriptions: { name: 'generate_content', output: 'text' },
  translations: { name: 'generate_content', output: 'text' },
}

/** Chat generation is called as the client's format calls it. */
const generation: Readonly<Record<string, OperationWords>> = {
  gemini: { name: 'generate_content' },
}

export function operationOf(operation: string, format: string): OperationWords {
  if (operation === 'generate') return generation[format] ?? { name: 'chat' }
  return operations[operation] ?? { name: operation.replaceAll('-', '_') }
}
