export { converseCodec } from './codec.ts'
