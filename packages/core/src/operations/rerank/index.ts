export { rerank } from './rerank.ts'
