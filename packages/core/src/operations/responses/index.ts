export { createRecords } from '../../state/records.ts'
export { generateKept } from './generate-kept.ts'
export { checkReferences, resolveReferences } from './resolve-references.ts'
