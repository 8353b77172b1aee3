export { checkReferences } from '../references/check.ts'
export { createCallerRecords } from './records.ts'
