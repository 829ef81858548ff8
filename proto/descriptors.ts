/**
 * The descriptors of the .proto files of services that are served, each after
 * those it imports: `google.protobuf.FileDescriptorProto` as base64. Written by
 * `deno task descriptors`; a test tells when that is to be done.
 *
 * They are data and not made from the .proto files at run time: these would have
 * to travel with each executable, and a reader of them, too.
 *
 * @module
 */

/** A .proto file. */
interface DescribedFile {
  /** Its name, as other files import it. */
  readonly name: string;
  /** The names of the files it imports. */
  readonly imports: readonly string[];
  /** Its descriptor as base64. */
  readonly base64: string;
}

/** The files; see above. */
export const DESCRIBED_FILES: readonly DescribedFile[] = [
  {
    name: "google/protobuf/struct.proto",
    imports: [],
    base64: "Chxnb29nbGUvcHJvdG9idWYvc3RydWN0LnByb3RvEg9nb29nbGUucHJvdG9idWYi" +
      "mAEKBlN0cnVjdBI7CgZmaWVsZHMYASADKAsyIy5nb29nbGUucHJvdG9idWYuU3Ry" +
      "dWN0LkZpZWxkc0VudHJ5UgZmaWVsZHMaUQoLRmllbGRzRW50cnkSEAoDa2V5GAEg" +
      "ASgJUgNrZXkSLAoFdmFsdWUYAiABKAsyFi5nb29nbGUucHJvdG9idWYuVmFsdWVS" +
      "BXZhbHVlOgI4ASKyAgoFVmFsdWUSOwoKbnVsbF92YWx1ZRgBIAEoDjIaLmdvb2ds" +
      "ZS5wcm90b2J1Zi5OdWxsVmFsdWVIAFIJbnVsbFZhbHVlEiMKDG51bWJlcl92YWx1" +
      "ZRgCIAEoAUgAUgtudW1iZXJWYWx1ZRIjCgxzdHJpbmdfdmFsdWUYAyABKAlIAFIL" +
      "c3RyaW5nVmFsdWUSHwoKYm9vbF92YWx1ZRgEIAEoCEgAUglib29sVmFsdWUSPAoM" +
      "c3RydWN0X3ZhbHVlGAUgASgLMhcuZ29vZ2xlLnByb3RvYnVmLlN0cnVjdEgAUgtz" +
      "dHJ1Y3RWYWx1ZRI7CgpsaXN0X3ZhbHVlGAYgASgLMhouZ29vZ2xlLnByb3RvYnVm" +
      "Lkxpc3RWYWx1ZUgAUglsaXN0VmFsdWVCBgoEa2luZCI7CglMaXN0VmFsdWUSLgoG" +
      "dmFsdWVzGAEgAygLMhYuZ29vZ2xlLnByb3RvYnVmLlZhbHVlUgZ2YWx1ZXMqGwoJ" +
      "TnVsbFZhbHVlEg4KCk5VTExfVkFMVUUQAGIGcHJvdG8z",
  },
  {
    name: "envoy/config/core/v3/base.proto",
    imports: ["google/protobuf/struct.proto"],
    base64: "Ch9lbnZveS9jb25maWcvY29yZS92My9iYXNlLnByb3RvEhRlbnZveS5jb25maWcu" +
      "Y29yZS52MxocZ29vZ2xlL3Byb3RvYnVmL3N0cnVjdC5wcm90byJSCgtIZWFkZXJW" +
      "YWx1ZRIQCgNrZXkYASABKAlSA2tleRIUCgV2YWx1ZRgCIAEoCVIFdmFsdWUSGwoJ" +
      "cmF3X3ZhbHVlGAMgASgMUghyYXdWYWx1ZSJLCgROb2RlEg4KAmlkGAEgASgJUgJp" +
      "ZBIzCghtZXRhZGF0YRgDIAEoCzIXLmdvb2dsZS5wcm90b2J1Zi5TdHJ1Y3RSCG1l" +
      "dGFkYXRhYgZwcm90bzM=",
  },
  {
    name: "envoy/type/v3/ratelimit_unit.proto",
    imports: [],
    base64: "CiJlbnZveS90eXBlL3YzL3JhdGVsaW1pdF91bml0LnByb3RvEg1lbnZveS50eXBl" +
      "LnYzKlwKDVJhdGVMaW1pdFVuaXQSCwoHVU5LTk9XThAAEgoKBlNFQ09ORBABEgoK" +
      "Bk1JTlVURRACEggKBEhPVVIQAxIHCgNEQVkQBBIJCgVNT05USBAFEggKBFlFQVIQ" +
      "BmIGcHJvdG8z",
  },
  {
    name: "google/protobuf/wrappers.proto",
    imports: [],
    base64: "Ch5nb29nbGUvcHJvdG9idWYvd3JhcHBlcnMucHJvdG8SD2dvb2dsZS5wcm90b2J1" +
      "ZiIjCgtEb3VibGVWYWx1ZRIUCgV2YWx1ZRgBIAEoAVIFdmFsdWUiIgoKRmxvYXRW" +
      "YWx1ZRIUCgV2YWx1ZRgBIAEoAlIFdmFsdWUiIgoKSW50NjRWYWx1ZRIUCgV2YWx1" +
      "ZRgBIAEoA1IFdmFsdWUiIwoLVUludDY0VmFsdWUSFAoFdmFsdWUYASABKARSBXZh" +
      "bHVlIiIKCkludDMyVmFsdWUSFAoFdmFsdWUYASABKAVSBXZhbHVlIiMKC1VJbnQz" +
      "MlZhbHVlEhQKBXZhbHVlGAEgASgNUgV2YWx1ZSIhCglCb29sVmFsdWUSFAoFdmFs" +
      "dWUYASABKAhSBXZhbHVlIiMKC1N0cmluZ1ZhbHVlEhQKBXZhbHVlGAEgASgJUgV2" +
      "YWx1ZSIiCgpCeXRlc1ZhbHVlEhQKBXZhbHVlGAEgASgMUgV2YWx1ZWIGcHJvdG8z",
  },
  {
    name: "envoy/extensions/common/ratelimit/v3/ratelimit.proto",
    imports: [
      "envoy/type/v3/ratelimit_unit.proto",
      "google/protobuf/wrappers.proto",
    ],
    base64: "CjRlbnZveS9leHRlbnNpb25zL2NvbW1vbi9yYXRlbGltaXQvdjMvcmF0ZWxpbWl0" +
      "LnByb3RvEiRlbnZveS5leHRlbnNpb25zLmNvbW1vbi5yYXRlbGltaXQudjMaImVu" +
      "dm95L3R5cGUvdjMvcmF0ZWxpbWl0X3VuaXQucHJvdG8aHmdvb2dsZS9wcm90b2J1" +
      "Zi93cmFwcGVycy5wcm90byLgAwoTUmF0ZUxpbWl0RGVzY3JpcHRvchJZCgdlbnRy" +
      "aWVzGAEgAygLMj8uZW52b3kuZXh0ZW5zaW9ucy5jb21tb24ucmF0ZWxpbWl0LnYz" +
      "LlJhdGVMaW1pdERlc2NyaXB0b3IuRW50cnlSB2VudHJpZXMSYQoFbGltaXQYAiAB" +
      "KAsySy5lbnZveS5leHRlbnNpb25zLmNvbW1vbi5yYXRlbGltaXQudjMuUmF0ZUxp" +
      "bWl0RGVzY3JpcHRvci5SYXRlTGltaXRPdmVycmlkZVIFbGltaXQSPQoLaGl0c19h" +
      "ZGRlbmQYAyABKAsyHC5nb29nbGUucHJvdG9idWYuVUludDY0VmFsdWVSCmhpdHNB" +
      "ZGRlbmQSKAoQaXNfbmVnYXRpdmVfaGl0cxgEIAEoCFIOaXNOZWdhdGl2ZUhpdHMa" +
      "LwoFRW50cnkSEAoDa2V5GAEgASgJUgNrZXkSFAoFdmFsdWUYAiABKAlSBXZhbHVl" +
      "GnEKEVJhdGVMaW1pdE92ZXJyaWRlEioKEXJlcXVlc3RzX3Blcl91bml0GAEgASgN" +
      "Ug9yZXF1ZXN0c1BlclVuaXQSMAoEdW5pdBgCIAEoDjIcLmVudm95LnR5cGUudjMu" +
      "UmF0ZUxpbWl0VW5pdFIEdW5pdGIGcHJvdG8z",
  },
  {
    name: "google/protobuf/duration.proto",
    imports: [],
    base64: "Ch5nb29nbGUvcHJvdG9idWYvZHVyYXRpb24ucHJvdG8SD2dvb2dsZS5wcm90b2J1" +
      "ZiI6CghEdXJhdGlvbhIYCgdzZWNvbmRzGAEgASgDUgdzZWNvbmRzEhQKBW5hbm9z" +
      "GAIgASgFUgVuYW5vc2IGcHJvdG8z",
  },
  {
    name: "google/protobuf/timestamp.proto",
    imports: [],
    base64: "Ch9nb29nbGUvcHJvdG9idWYvdGltZXN0YW1wLnByb3RvEg9nb29nbGUucHJvdG9i" +
      "dWYiOwoJVGltZXN0YW1wEhgKB3NlY29uZHMYASABKANSB3NlY29uZHMSFAoFbmFu" +
      "b3MYAiABKAVSBW5hbm9zYgZwcm90bzM=",
  },
  {
    name: "envoy/service/ratelimit/v3/rls.proto",
    imports: [
      "envoy/config/core/v3/base.proto",
      "envoy/extensions/common/ratelimit/v3/ratelimit.proto",
      "google/protobuf/duration.proto",
      "google/protobuf/struct.proto",
      "google/protobuf/timestamp.proto",
    ],
    base64: "CiRlbnZveS9zZXJ2aWNlL3JhdGVsaW1pdC92My9ybHMucHJvdG8SGmVudm95LnNl" +
      "cnZpY2UucmF0ZWxpbWl0LnYzGh9lbnZveS9jb25maWcvY29yZS92My9iYXNlLnBy" +
      "b3RvGjRlbnZveS9leHRlbnNpb25zL2NvbW1vbi9yYXRlbGltaXQvdjMvcmF0ZWxp" +
      "bWl0LnByb3RvGh5nb29nbGUvcHJvdG9idWYvZHVyYXRpb24ucHJvdG8aHGdvb2ds" +
      "ZS9wcm90b2J1Zi9zdHJ1Y3QucHJvdG8aH2dvb2dsZS9wcm90b2J1Zi90aW1lc3Rh" +
      "bXAucHJvdG8iqAEKEFJhdGVMaW1pdFJlcXVlc3QSFgoGZG9tYWluGAEgASgJUgZk" +
      "b21haW4SWwoLZGVzY3JpcHRvcnMYAiADKAsyOS5lbnZveS5leHRlbnNpb25zLmNv" +
      "bW1vbi5yYXRlbGltaXQudjMuUmF0ZUxpbWl0RGVzY3JpcHRvclILZGVzY3JpcHRv" +
      "cnMSHwoLaGl0c19hZGRlbmQYAyABKA1SCmhpdHNBZGRlbmQi1woKEVJhdGVMaW1p" +
      "dFJlc3BvbnNlElUKDG92ZXJhbGxfY29kZRgBIAEoDjIyLmVudm95LnNlcnZpY2Uu" +
      "cmF0ZWxpbWl0LnYzLlJhdGVMaW1pdFJlc3BvbnNlLkNvZGVSC292ZXJhbGxDb2Rl" +
      "EloKCHN0YXR1c2VzGAIgAygLMj4uZW52b3kuc2VydmljZS5yYXRlbGltaXQudjMu" +
      "UmF0ZUxpbWl0UmVzcG9uc2UuRGVzY3JpcHRvclN0YXR1c1IIc3RhdHVzZXMSWAoX" +
      "cmVzcG9uc2VfaGVhZGVyc190b19hZGQYAyADKAsyIS5lbnZveS5jb25maWcuY29y" +
      "ZS52My5IZWFkZXJWYWx1ZVIUcmVzcG9uc2VIZWFkZXJzVG9BZGQSVgoWcmVxdWVz" +
      "dF9oZWFkZXJzX3RvX2FkZBgEIAMoCzIhLmVudm95LmNvbmZpZy5jb3JlLnYzLkhl" +
      "YWRlclZhbHVlUhNyZXF1ZXN0SGVhZGVyc1RvQWRkEhkKCHJhd19ib2R5GAUgASgM" +
      "UgdyYXdCb2R5EkIKEGR5bmFtaWNfbWV0YWRhdGEYBiABKAsyFy5nb29nbGUucHJv" +
      "dG9idWYuU3RydWN0Ug9keW5hbWljTWV0YWRhdGESSQoFcXVvdGEYByABKAsyMy5l" +
      "bnZveS5zZXJ2aWNlLnJhdGVsaW1pdC52My5SYXRlTGltaXRSZXNwb25zZS5RdW90" +
      "YVIFcXVvdGEa/AEKCVJhdGVMaW1pdBIqChFyZXF1ZXN0c19wZXJfdW5pdBgBIAEo" +
      "DVIPcmVxdWVzdHNQZXJVbml0ElAKBHVuaXQYAiABKA4yPC5lbnZveS5zZXJ2aWNl" +
      "LnJhdGVsaW1pdC52My5SYXRlTGltaXRSZXNwb25zZS5SYXRlTGltaXQuVW5pdFIE" +
      "dW5pdBISCgRuYW1lGAMgASgJUgRuYW1lIl0KBFVuaXQSCwoHVU5LTk9XThAAEgoK" +
      "BlNFQ09ORBABEgoKBk1JTlVURRACEggKBEhPVVIQAxIHCgNEQVkQBBIJCgVNT05U" +
      "SBAFEggKBFlFQVIQBhIICgRXRUVLEAcaigEKBVF1b3RhEhoKCHJlcXVlc3RzGAEg" +
      "ASgNUghyZXF1ZXN0cxI9Cgt2YWxpZF91bnRpbBgCIAEoCzIaLmdvb2dsZS5wcm90" +
      "b2J1Zi5UaW1lc3RhbXBIAFIKdmFsaWRVbnRpbBIOCgJpZBgDIAEoCVICaWRCFgoU" +
      "ZXhwaXJhdGlvbl9zcGVjaWZpZXIa+QIKEERlc2NyaXB0b3JTdGF0dXMSRgoEY29k" +
      "ZRgBIAEoDjIyLmVudm95LnNlcnZpY2UucmF0ZWxpbWl0LnYzLlJhdGVMaW1pdFJl" +
      "c3BvbnNlLkNvZGVSBGNvZGUSXAoNY3VycmVudF9saW1pdBgCIAEoCzI3LmVudm95" +
      "LnNlcnZpY2UucmF0ZWxpbWl0LnYzLlJhdGVMaW1pdFJlc3BvbnNlLlJhdGVMaW1p" +
      "dFIMY3VycmVudExpbWl0EicKD2xpbWl0X3JlbWFpbmluZxgDIAEoDVIObGltaXRS" +
      "ZW1haW5pbmcSSwoUZHVyYXRpb25fdW50aWxfcmVzZXQYBCABKAsyGS5nb29nbGUu" +
      "cHJvdG9idWYuRHVyYXRpb25SEmR1cmF0aW9uVW50aWxSZXNldBJJCgVxdW90YRgF" +
      "IAEoCzIzLmVudm95LnNlcnZpY2UucmF0ZWxpbWl0LnYzLlJhdGVMaW1pdFJlc3Bv" +
      "bnNlLlF1b3RhUgVxdW90YSIrCgRDb2RlEgsKB1VOS05PV04QABIGCgJPSxABEg4K" +
      "Ck9WRVJfTElNSVQQAjKCAQoQUmF0ZUxpbWl0U2VydmljZRJuCg9TaG91bGRSYXRl" +
      "TGltaXQSLC5lbnZveS5zZXJ2aWNlLnJhdGVsaW1pdC52My5SYXRlTGltaXRSZXF1" +
      "ZXN0Gi0uZW52b3kuc2VydmljZS5yYXRlbGltaXQudjMuUmF0ZUxpbWl0UmVzcG9u" +
      "c2ViBnByb3RvMw==",
  },
  {
    name: "grpc/health/v1/health.proto",
    imports: [],
    base64: "ChtncnBjL2hlYWx0aC92MS9oZWFsdGgucHJvdG8SDmdycGMuaGVhbHRoLnYxIi4K" +
      "EkhlYWx0aENoZWNrUmVxdWVzdBIYCgdzZXJ2aWNlGAEgASgJUgdzZXJ2aWNlIrEB" +
      "ChNIZWFsdGhDaGVja1Jlc3BvbnNlEkkKBnN0YXR1cxgBIAEoDjIxLmdycGMuaGVh" +
      "bHRoLnYxLkhlYWx0aENoZWNrUmVzcG9uc2UuU2VydmluZ1N0YXR1c1IGc3RhdHVz" +
      "Ik8KDVNlcnZpbmdTdGF0dXMSCwoHVU5LTk9XThAAEgsKB1NFUlZJTkcQARIPCgtO" +
      "T1RfU0VSVklORxACEhMKD1NFUlZJQ0VfVU5LTk9XThADIhMKEUhlYWx0aExpc3RS" +
      "ZXF1ZXN0IsQBChJIZWFsdGhMaXN0UmVzcG9uc2USTAoIc3RhdHVzZXMYASADKAsy" +
      "MC5ncnBjLmhlYWx0aC52MS5IZWFsdGhMaXN0UmVzcG9uc2UuU3RhdHVzZXNFbnRy" +
      "eVIIc3RhdHVzZXMaYAoNU3RhdHVzZXNFbnRyeRIQCgNrZXkYASABKAlSA2tleRI5" +
      "CgV2YWx1ZRgCIAEoCzIjLmdycGMuaGVhbHRoLnYxLkhlYWx0aENoZWNrUmVzcG9u" +
      "c2VSBXZhbHVlOgI4ATL9AQoGSGVhbHRoElAKBUNoZWNrEiIuZ3JwYy5oZWFsdGgu" +
      "djEuSGVhbHRoQ2hlY2tSZXF1ZXN0GiMuZ3JwYy5oZWFsdGgudjEuSGVhbHRoQ2hl" +
      "Y2tSZXNwb25zZRJNCgRMaXN0EiEuZ3JwYy5oZWFsdGgudjEuSGVhbHRoTGlzdFJl" +
      "cXVlc3QaIi5ncnBjLmhlYWx0aC52MS5IZWFsdGhMaXN0UmVzcG9uc2USUgoFV2F0" +
      "Y2gSIi5ncnBjLmhlYWx0aC52MS5IZWFsdGhDaGVja1JlcXVlc3QaIy5ncnBjLmhl" +
      "YWx0aC52MS5IZWFsdGhDaGVja1Jlc3BvbnNlMAFiBnByb3RvMw==",
  },
  {
    name: "grpc/reflection/v1/reflection.proto",
    imports: [],
    base64: "CiNncnBjL3JlZmxlY3Rpb24vdjEvcmVmbGVjdGlvbi5wcm90bxISZ3JwYy5yZWZs" +
      "ZWN0aW9uLnYxIvMCChdTZXJ2ZXJSZWZsZWN0aW9uUmVxdWVzdBISCgRob3N0GAEg" +
      "ASgJUgRob3N0EioKEGZpbGVfYnlfZmlsZW5hbWUYAyABKAlIAFIOZmlsZUJ5Rmls" +
      "ZW5hbWUSNgoWZmlsZV9jb250YWluaW5nX3N5bWJvbBgEIAEoCUgAUhRmaWxlQ29u" +
      "dGFpbmluZ1N5bWJvbBJiChlmaWxlX2NvbnRhaW5pbmdfZXh0ZW5zaW9uGAUgASgL" +
      "MiQuZ3JwYy5yZWZsZWN0aW9uLnYxLkV4dGVuc2lvblJlcXVlc3RIAFIXZmlsZUNv" +
      "bnRhaW5pbmdFeHRlbnNpb24SQgodYWxsX2V4dGVuc2lvbl9udW1iZXJzX29mX3R5" +
      "cGUYBiABKAlIAFIZYWxsRXh0ZW5zaW9uTnVtYmVyc09mVHlwZRIlCg1saXN0X3Nl" +
      "cnZpY2VzGAcgASgJSABSDGxpc3RTZXJ2aWNlc0IRCg9tZXNzYWdlX3JlcXVlc3Qi" +
      "ZgoQRXh0ZW5zaW9uUmVxdWVzdBInCg9jb250YWluaW5nX3R5cGUYASABKAlSDmNv" +
      "bnRhaW5pbmdUeXBlEikKEGV4dGVuc2lvbl9udW1iZXIYAiABKAVSD2V4dGVuc2lv" +
      "bk51bWJlciKuBAoYU2VydmVyUmVmbGVjdGlvblJlc3BvbnNlEh0KCnZhbGlkX2hv" +
      "c3QYASABKAlSCXZhbGlkSG9zdBJWChBvcmlnaW5hbF9yZXF1ZXN0GAIgASgLMisu" +
      "Z3JwYy5yZWZsZWN0aW9uLnYxLlNlcnZlclJlZmxlY3Rpb25SZXF1ZXN0Ug9vcmln" +
      "aW5hbFJlcXVlc3QSZgoYZmlsZV9kZXNjcmlwdG9yX3Jlc3BvbnNlGAQgASgLMiou" +
      "Z3JwYy5yZWZsZWN0aW9uLnYxLkZpbGVEZXNjcmlwdG9yUmVzcG9uc2VIAFIWZmls" +
      "ZURlc2NyaXB0b3JSZXNwb25zZRJyCh5hbGxfZXh0ZW5zaW9uX251bWJlcnNfcmVz" +
      "cG9uc2UYBSABKAsyKy5ncnBjLnJlZmxlY3Rpb24udjEuRXh0ZW5zaW9uTnVtYmVy" +
      "UmVzcG9uc2VIAFIbYWxsRXh0ZW5zaW9uTnVtYmVyc1Jlc3BvbnNlEl8KFmxpc3Rf" +
      "c2VydmljZXNfcmVzcG9uc2UYBiABKAsyJy5ncnBjLnJlZmxlY3Rpb24udjEuTGlz" +
      "dFNlcnZpY2VSZXNwb25zZUgAUhRsaXN0U2VydmljZXNSZXNwb25zZRJKCg5lcnJv" +
      "cl9yZXNwb25zZRgHIAEoCzIhLmdycGMucmVmbGVjdGlvbi52MS5FcnJvclJlc3Bv" +
      "bnNlSABSDWVycm9yUmVzcG9uc2VCEgoQbWVzc2FnZV9yZXNwb25zZSJMChZGaWxl" +
      "RGVzY3JpcHRvclJlc3BvbnNlEjIKFWZpbGVfZGVzY3JpcHRvcl9wcm90bxgBIAMo" +
      "DFITZmlsZURlc2NyaXB0b3JQcm90byJqChdFeHRlbnNpb25OdW1iZXJSZXNwb25z" +
      "ZRIkCg5iYXNlX3R5cGVfbmFtZRgBIAEoCVIMYmFzZVR5cGVOYW1lEikKEGV4dGVu" +
      "c2lvbl9udW1iZXIYAiADKAVSD2V4dGVuc2lvbk51bWJlciJUChNMaXN0U2Vydmlj" +
      "ZVJlc3BvbnNlEj0KB3NlcnZpY2UYASADKAsyIy5ncnBjLnJlZmxlY3Rpb24udjEu" +
      "U2VydmljZVJlc3BvbnNlUgdzZXJ2aWNlIiUKD1NlcnZpY2VSZXNwb25zZRISCgRu" +
      "YW1lGAEgASgJUgRuYW1lIlMKDUVycm9yUmVzcG9uc2USHQoKZXJyb3JfY29kZRgB" +
      "IAEoBVIJZXJyb3JDb2RlEiMKDWVycm9yX21lc3NhZ2UYAiABKAlSDGVycm9yTWVz" +
      "c2FnZTKJAQoQU2VydmVyUmVmbGVjdGlvbhJ1ChRTZXJ2ZXJSZWZsZWN0aW9uSW5m" +
      "bxIrLmdycGMucmVmbGVjdGlvbi52MS5TZXJ2ZXJSZWZsZWN0aW9uUmVxdWVzdBos" +
      "LmdycGMucmVmbGVjdGlvbi52MS5TZXJ2ZXJSZWZsZWN0aW9uUmVzcG9uc2UoATAB" +
      "YgZwcm90bzM=",
  },
  {
    name: "grpc/reflection/v1alpha/reflection.proto",
    imports: [],
    base64: "CihncnBjL3JlZmxlY3Rpb24vdjFhbHBoYS9yZWZsZWN0aW9uLnByb3RvEhdncnBj" +
      "LnJlZmxlY3Rpb24udjFhbHBoYSL4AgoXU2VydmVyUmVmbGVjdGlvblJlcXVlc3QS" +
      "EgoEaG9zdBgBIAEoCVIEaG9zdBIqChBmaWxlX2J5X2ZpbGVuYW1lGAMgASgJSABS" +
      "DmZpbGVCeUZpbGVuYW1lEjYKFmZpbGVfY29udGFpbmluZ19zeW1ib2wYBCABKAlI" +
      "AFIUZmlsZUNvbnRhaW5pbmdTeW1ib2wSZwoZZmlsZV9jb250YWluaW5nX2V4dGVu" +
      "c2lvbhgFIAEoCzIpLmdycGMucmVmbGVjdGlvbi52MWFscGhhLkV4dGVuc2lvblJl" +
      "cXVlc3RIAFIXZmlsZUNvbnRhaW5pbmdFeHRlbnNpb24SQgodYWxsX2V4dGVuc2lv" +
      "bl9udW1iZXJzX29mX3R5cGUYBiABKAlIAFIZYWxsRXh0ZW5zaW9uTnVtYmVyc09m" +
      "VHlwZRIlCg1saXN0X3NlcnZpY2VzGAcgASgJSABSDGxpc3RTZXJ2aWNlc0IRCg9t" +
      "ZXNzYWdlX3JlcXVlc3QiZgoQRXh0ZW5zaW9uUmVxdWVzdBInCg9jb250YWluaW5n" +
      "X3R5cGUYASABKAlSDmNvbnRhaW5pbmdUeXBlEikKEGV4dGVuc2lvbl9udW1iZXIY" +
      "AiABKAVSD2V4dGVuc2lvbk51bWJlciLHBAoYU2VydmVyUmVmbGVjdGlvblJlc3Bv" +
      "bnNlEh0KCnZhbGlkX2hvc3QYASABKAlSCXZhbGlkSG9zdBJbChBvcmlnaW5hbF9y" +
      "ZXF1ZXN0GAIgASgLMjAuZ3JwYy5yZWZsZWN0aW9uLnYxYWxwaGEuU2VydmVyUmVm" +
      "bGVjdGlvblJlcXVlc3RSD29yaWdpbmFsUmVxdWVzdBJrChhmaWxlX2Rlc2NyaXB0" +
      "b3JfcmVzcG9uc2UYBCABKAsyLy5ncnBjLnJlZmxlY3Rpb24udjFhbHBoYS5GaWxl" +
      "RGVzY3JpcHRvclJlc3BvbnNlSABSFmZpbGVEZXNjcmlwdG9yUmVzcG9uc2USdwoe" +
      "YWxsX2V4dGVuc2lvbl9udW1iZXJzX3Jlc3BvbnNlGAUgASgLMjAuZ3JwYy5yZWZs" +
      "ZWN0aW9uLnYxYWxwaGEuRXh0ZW5zaW9uTnVtYmVyUmVzcG9uc2VIAFIbYWxsRXh0" +
      "ZW5zaW9uTnVtYmVyc1Jlc3BvbnNlEmQKFmxpc3Rfc2VydmljZXNfcmVzcG9uc2UY" +
      "BiABKAsyLC5ncnBjLnJlZmxlY3Rpb24udjFhbHBoYS5MaXN0U2VydmljZVJlc3Bv" +
      "bnNlSABSFGxpc3RTZXJ2aWNlc1Jlc3BvbnNlEk8KDmVycm9yX3Jlc3BvbnNlGAcg" +
      "ASgLMiYuZ3JwYy5yZWZsZWN0aW9uLnYxYWxwaGEuRXJyb3JSZXNwb25zZUgAUg1l" +
      "cnJvclJlc3BvbnNlQhIKEG1lc3NhZ2VfcmVzcG9uc2UiTAoWRmlsZURlc2NyaXB0" +
      "b3JSZXNwb25zZRIyChVmaWxlX2Rlc2NyaXB0b3JfcHJvdG8YASADKAxSE2ZpbGVE" +
      "ZXNjcmlwdG9yUHJvdG8iagoXRXh0ZW5zaW9uTnVtYmVyUmVzcG9uc2USJAoOYmFz" +
      "ZV90eXBlX25hbWUYASABKAlSDGJhc2VUeXBlTmFtZRIpChBleHRlbnNpb25fbnVt" +
      "YmVyGAIgAygFUg9leHRlbnNpb25OdW1iZXIiWQoTTGlzdFNlcnZpY2VSZXNwb25z" +
      "ZRJCCgdzZXJ2aWNlGAEgAygLMiguZ3JwYy5yZWZsZWN0aW9uLnYxYWxwaGEuU2Vy" +
      "dmljZVJlc3BvbnNlUgdzZXJ2aWNlIiUKD1NlcnZpY2VSZXNwb25zZRISCgRuYW1l" +
      "GAEgASgJUgRuYW1lIlMKDUVycm9yUmVzcG9uc2USHQoKZXJyb3JfY29kZRgBIAEo" +
      "BVIJZXJyb3JDb2RlEiMKDWVycm9yX21lc3NhZ2UYAiABKAlSDGVycm9yTWVzc2Fn" +
      "ZTKTAQoQU2VydmVyUmVmbGVjdGlvbhJ/ChRTZXJ2ZXJSZWZsZWN0aW9uSW5mbxIw" +
      "LmdycGMucmVmbGVjdGlvbi52MWFscGhhLlNlcnZlclJlZmxlY3Rpb25SZXF1ZXN0" +
      "GjEuZ3JwYy5yZWZsZWN0aW9uLnYxYWxwaGEuU2VydmVyUmVmbGVjdGlvblJlc3Bv" +
      "bnNlKAEwAWIGcHJvdG8z",
  },
];
