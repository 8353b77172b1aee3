/** Name of an operation in the conventions, and its output type where the request cannot change it. */
interface OperationConvention {
  readonly name: string
  readonly output?: 'text' | 'image' | 'speech'
}

/** The gateway's operations. An operation unknown to the conventions keeps the gateway's name, written in their style. */
const operations: Readonly<Record<string, OperationConvention>> = {
  completions: { name: 'text_completion' },
  embeddings: { name: 'embeddings' },
  images: { name: 'generate_content', output: 'image' },
  'image-edits': { name: 'generate_content', output: 'image' },
  'image-variations': { name: 'generate_content', output: 'image' },
  speech: { name: 'generate_content', output: 'speech' },
  transcriptions: { name: 'generate_content', output: 'text' },
  translations: { name: 'generate_content', output: 'text' },
}

/** Chat generation is named after the client's format. */
const generation: Readonly<Record<string, OperationConvention>> = {
  gemini: { name: 'generate_content' },
}

export function operationConvention(operation: string, format: string): OperationConvention {
  if (operation === 'generate') return generation[format] ?? { name: 'chat' }
  return operations[operation] ?? { name: operation.replaceAll('-', '_') }
}
