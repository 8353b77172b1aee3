export { createRecords } from '../../state/records.ts'
export { generateKept } from './generate-kept.ts'
export { recall } from './recall.ts'
