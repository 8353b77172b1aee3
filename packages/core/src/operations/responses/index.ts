export { generateAndStore } from './generate-and-store.ts'
export { createCallerRecords } from './records.ts'
export { checkReferences, resolveReferences } from './resolve-references.ts'
