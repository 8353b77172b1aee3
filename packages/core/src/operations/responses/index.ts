export { generateKept } from './generate-kept.ts'
export { createRecords } from './records.ts'
export { checkReferences, resolveReferences } from './resolve-references.ts'
