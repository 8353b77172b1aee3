export { generateAndStore } from './generate-and-store.ts'
export { resolveReferences } from './resolve-references.ts'
