#include "function_table.h"

namespace halyard::ops::expansion {
namespace {

// The relative error of the whole function is noted beside each fit.

// ---- f32
constexpr double exponential_f32[] = {0.5,           0x1.555554p-3,  0x1.5554e6p-5,  // 2^-33
                                      0x1.1112fep-7, 0x1.6d4f1cp-10, 0x1.9e204cp-13};
constexpr double exponential_of_two_f32[] = {0x1.62e43p-1,  0x1.ebfbep-3,   0x1.c6b06ep-5,  // 2^-32
                                             0x1.3b2a5cp-7, 0x1.5da578p-10, 0x1.440e2cp-13, 0x1.e0d73ap-17};
constexpr double hyperbolic_sine_f32[] = {0x1.555556p-3, 0x1.1110e2p-7, 0x1.a02156p-13,  // 2^-31
                                          0x1.75a6fp-19};
constexpr double hyperbolic_tangent_f32[] = {-0x1.555554p-2, 0x1.11106ep-3,  -0x1.b9edc2p-5,  // 2^-31
                                             0x1.6371b6p-6,  -0x1.0b3b66p-7, 0x1.159a28p-9};
constexpr double error_near_f32[] = {0x1.06eba8p-3, -0x1.812742p-2,  0x1.ce2decp-4, -0x1.b80cd8p-6,  // 2^-30
                                     0x1.54bb16p-8, -0x1.a9e1ecp-11, 0x1.5bcf3cp-14};
constexpr double error_far_f32[] = {0x1.0778ecp-3, 0x1.45327cp-1,   0x1.b32670p-4, -0x1.855512p-6,  // 2^-30
                                    0x1.dd7c24p-9, -0x1.529d2ap-12, 0x1.794ee4p-17};
constexpr double logarithm_f32[] = {0x1.555548p-2,  -0x1.000008p-2, 0x1.99a47ap-3,  // 2^-30
                                    -0x1.555b8cp-3, 0x1.233abep-3,  -0x1.fc3ep-4,
                                    0x1.e6e088p-4,  -0x1.dd9be6p-4, 0x1.13b972p-4};
constexpr double sine_f32[] = {-0x1.555556p-3, 0x1.111174p-7, -0x1.a0595ep-13, 0x1.7c3224p-19};     // 2^-32
constexpr double cosine_f32[] = {0x1.555556p-5, -0x1.6c175cp-10, 0x1.a06fb0p-16, -0x1.35954cp-22};  // 2^-37
constexpr double tangent_f32[] = {0x1.555562p-2, 0x1.110d26p-3,  0x1.baecfcp-5, 0x1.5c096p-6,       // 2^-29
                                  0x1.6645c2p-7, -0x1.e6481p-16, 0x1.227c3cp-8};
constexpr double arc_sine_f32[] = {0x1.55554cp-3, 0x1.3338a4p-4, 0x1.6ca968p-5,  // 2^-31
                                   0x1.04bbcep-5, 0x1.d6c624p-7, 0x1.341e48p-5};
constexpr double arc_tangent_f32[] = {-0x1.555554p-2, 0x1.999892p-3,  -0x1.24703cp-3,  // 2^-33
                                      0x1.c30594p-4,  -0x1.53cf16p-4, 0x1.673ep-5};
// The next term is below 2^-36 of the sum, for |s| < 0.172.
constexpr double power_f32[] = {0x1.99999ap-3, 0x1.24924ap-3, 0x1.c71c72p-4, 0x1.745d18p-4, 0x1.3b13b2p-4};

constexpr std::uint64_t two_over_pi_words_f32[] = {
    0x00000028, 0xbe60db93, 0x91054a7f, 0x09d5f47d, 0x4d377036, 0xd8a5664f, 0x10e4107f,
};

// ---- f64
constexpr double exponential_f64[] = {0x1p-1,
                                      0x1.555555555555ap-3,
                                      0x1.555555555553p-5,  // 2^-63
                                      0x1.111111110f16fp-7,
                                      0x1.6c16c16c275b8p-10,
                                      0x1.a01a01b1df799p-13,
                                      0x1.a01a015020fa5p-16,
                                      0x1.71ddf397bd4f9p-19,
                                      0x1.27e592c2ff9b4p-22,
                                      0x1.af669b5e6e24fp-26,
                                      0x1.1e5d4d2b7de9ep-29};
constexpr double exponential_of_two_f64[] = {
    0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58ep-3,  0x1.c6b08d704a1d3p-5,  0x1.3b2ab6fba5193p-7,  // 2^-59
    0x1.5d87fe7874af8p-10, 0x1.430912f75cf0ap-13, 0x1.ffcbfd46a3e44p-17, 0x1.62c02703160b1p-20,
    0x1.b52338aa91eb3p-24, 0x1.e4bc46569dd06p-28, 0x1.ec66662e1f4a6p-32, 0x1.dfbdc61548f23p-36};
constexpr double hyperbolic_sine_f64[] = {0x1.5555555555556p-3,  0x1.111111111101ep-7,  // 2^-61
                                          0x1.a01a01a0371fcp-13, 0x1.71de3a3b10589p-19, 0x1.ae646febcf5b1p-26,
                                          0x1.6116f83109767p-33, 0x1.b5c7af1b29e6cp-41};
constexpr double hyperbolic_tangent_f64[] = {
    -0x1.5555555555552p-2,  0x1.1111111110c52p-3,  -0x1.ba1ba1b9d19cp-5,   0x1.664f4870c4fcbp-6,  // 2^-61
    -0x1.226e32cfdb2e1p-7,  0x1.d6d35a42bdd82p-9,  -0x1.7d9c33927bfefp-10, 0x1.350b8ba0045b9p-11,
    -0x1.f113784499356p-13, 0x1.801c1614c8f99p-14, -0x1.fac7a81b595fcp-16, 0x1.9608e8d76b828p-18};
constexpr double error_near_f64[] = {0x1.06eba8214db69p-3,   -0x1.812746b037a2dp-2,  0x1.ce2f21a04667dp-4,
                                     -0x1.b82ce313bf0bdp-6,  // 2^-56
                                     0x1.565bcd43d626dp-8,   -0x1.c02dbee5980fbp-11, 0x1.f9a49099c562fp-14,
                                     -0x1.f4f1471d84f28p-17, 0x1.bbaab0eacab8cp-20,  -0x1.70804c8985784p-23,
                                     0x1.66af7645d1e5bp-26,  -0x1.0aee35dd26ccap-28, 0x1.44d9be906f3e1p-31};
constexpr double error_far_f64[] = {
    0x1.06ebaba4c5ac7p-3,   0x1.45f2fc4966bcbp-1,   0x1.a4f6c238f4d62p-4,   -0x1.39811eabd706dp-6,  // 2^-61
    -0x1.95915c05a4213p-13, 0x1.b4f1ff57c2093p-10,  -0x1.1f3966e9f0548p-11, -0x1.7540fb0903a5bp-16,
    0x1.c675f47a2127ep-14,  -0x1.03696ae1b13a6p-14, 0x1.7418c9245f191p-16,  -0x1.7d575f87148c6p-18,
    0x1.13afa43c64fb6p-20,  -0x1.d5504779256d6p-24, -0x1.04c57232693bbp-29, 0x1.d192d176f6c99p-29,
    -0x1.924579578d36ap-31, 0x1.932299477026dp-34,  -0x1.ffbc6e6e4d31bp-38, 0x1.80f6832c2fe4ap-42,
    -0x1.07bbbbbe0170bp-47};
constexpr double logarithm_f64[] = {
    0x1.5555555555555p-1, 0x1.9999999999d12p-2, 0x1.2492492439643p-2,  // 2^-66
    0x1.c71c724b8734ap-3, 0x1.745ce1bf81d7bp-3, 0x1.3b2025e891fbfp-3,
    0x1.0f67287b5e0f6p-3, 0x1.0f0eadbbc4c52p-3};
constexpr double sine_f64[] = {-0x1.5555555555555p-3, 0x1.1111111111069p-7,  -0x1.a01a019ffe50cp-13,  // 2^-63
                               0x1.71de3a339d2bbp-19, -0x1.ae642c3aa8ffp-26, 0x1.6109a5ce74b1fp-33,
                               -0x1.9fed0a1eae1fep-41};
constexpr double cosine_f64[] = {
    0x1.555555555554bp-5,   -0x1.6c16c16c1501cp-10, 0x1.a01a019c90492p-16,  // 2^-63
    -0x1.27e4f7f2a2c2ep-22, 0x1.1ee9dcaa37af1p-29,  -0x1.8fa703f72b1fep-37};
constexpr double tangent_f64[] = {
    0x1.555555555555dp-2,  0x1.11111111106dbp-3,   0x1.ba1ba1bab251ep-5,  0x1.664f485fc244p-6,  // 2^-59
    0x1.226e3a2fae21ap-7,  0x1.d6d2f4b6cd31ap-9,   0x1.7db0d8b43475fp-10, 0x1.34c3217b0d27dp-11,
    0x1.fecb1cd30bf0p-13,  0x1.6072fffa305fcp-14,  0x1.165ec695d272ap-14, -0x1.9c0b469bbb761p-16,
    0x1.907e878dcf717p-15, -0x1.8fd8bf910093ap-16, 0x1.4583917416abfp-17};
constexpr double arc_sine_f64[] = {0x1.5555555555577p-3, 0x1.333333332e115p-4, 0x1.6db6db7213f17p-5,
                                   0x1.f1c71a9468242p-6,  // 2^-59
                                   0x1.6e8bdeedd8341p-6, 0x1.1c49ef85f47e9p-6, 0x1.ca1f9f3152c2fp-7,
                                   0x1.758508b2b3c96p-7, 0x1.613f12a11bb11p-7, 0x1.e5d33605e490bp-9,
                                   0x1.63a5e54885a27p-6, -0x1.5809a78cbf2ap-6, 0x1.0b4a3820a9aa1p-5};
constexpr double arc_tangent_f64[] = {
    -0x1.5555555555552p-2, 0x1.999999999900cp-3, -0x1.2492492446a08p-3, 0x1.c71c71a1a34bep-4,  // 2^-62
    -0x1.745d11d5283e4p-4, 0x1.3b13303ae5eafp-4, -0x1.1109109696cebp-4, 0x1.e1333c1b0f1f6p-5,
    -0x1.a9fe9e220912ep-5, 0x1.6b28d6abf664fp-5, -0x1.05795db80cbecp-5, 0x1.c0baac7313b89p-7};
// The next term is below 2^-70 of the sum, for |s| < 0.172.
constexpr double power_f64[] = {0x1.999999999999ap-3, 0x1.2492492492492p-3, 0x1.c71c71c71c71cp-4,
                                0x1.745d1745d1746p-4, 0x1.3b13b13b13b14p-4, 0x1.1111111111111p-4,
                                0x1.e1e1e1e1e1e1ep-5, 0x1.af286bca1af28p-5, 0x1.8618618618618p-5,
                                0x1.642c8590b2164p-5, 0x1.47ae147ae147bp-5, 0x1.2f684bda12f68p-5};

constexpr std::uint64_t two_over_pi_words_f64[] = {
    0x0000000000000145, 0xf306dc9c882a53f8, 0x4eafa3ea69bb81b6, 0xc52b3278872083fc, 0xa2c757bd778ac36e,
    0x48dc74849ba5c00c, 0x925dd413a32439fc, 0x3bd63962534e7dd1, 0x046bea5d768909d3, 0x38e04d68befc8273,
    0x23ac7306a673e939, 0x08bf177bf250763f, 0xf12fffbc0b301fde, 0x5e2316b414da3eda, 0x6cfd9e4f96136e9e,
    0x8c7ecd3cbfd45aea, 0x4f758fd7cbe2f67a, 0x0e73ef14a525d4d7, 0xf6bf623f1aba10ac,
};

constexpr FunctionTable table_f32{
    .element = ElementType::f32,
    .integer = ElementType::i32,
    .bits = ElementType::u32,
    .stored_digits = 23,
    .bias = 127,
    .smallest_normal = 0x1p-126,
    .sign_bit = 0x80000000,
    .fraction_mask = 0x7fffff,
    .one_bits = 0x3f800000,
    .high_half_mask = 0xfffff000,
    .split_factor = 4097,
    .round_magic = 0x1.8p23,
    .round_magic_bits = 0x4b400000,
    .inverse_ln2 = 0x1.715476p+0,
    .ln2_high = 0x1.62e4p-1,
    .ln2_low = 0x1.7f7d1cp-20,
    .exponential_least = -104,
    .exponential_greatest = 90,
    .exponential = exponential_f32,
    .exponential_of_two_least = -151,
    .exponential_of_two_greatest = 129,
    .exponential_of_two = exponential_of_two_f32,
    .minus_one_least = -25,
    .minus_one_greatest = 89,
    .halved_from = 64,
    .hyperbolic_sine = hyperbolic_sine_f32,
    .hyperbolic_tangent = hyperbolic_tangent_f32,
    .error_near = error_near_f32,
    .error_end = 4,
    .error_far = error_far_f32,
    .sqrt_half_bits = 0x3f3504f3,
    .logarithm_by_quotient = false,
    .logarithm = logarithm_f32,
    .inverse_ln2_high = 0x1.715p+0,
    .inverse_ln2_low = 0x1.1d94aep-14,
    .two_over_pi = 0x1.45f306p-1,
    .half_pi_parts = {0x1.92p+0, 0x1.fb4p-12, 0x1.444p-24, 0x1.68c234p-39},
    .half_pi_parts_limit = 12867,
    .two_over_pi_words = two_over_pi_words_f32,
    .sine = sine_f32,
    .cosine = cosine_f32,
    .tangent = tangent_f32,
    .arc_sine = arc_sine_f32,
    .arc_tangent = arc_tangent_f32,
    .half_pi = {0x1.921fb6p+0, -0x1.777a5cp-25},
    .arc_of_half = {0x1.dac67p-2, 0x1.586ed4p-28},
    .arc_of_three_halves = {0x1.f730bep-1, -0x1.afc12cp-26},
    .power_greatest = 0x1p33,
    .third = {0x1.555556p-2, -0x1.555556p-27},
    .power = power_f32,
};

constexpr FunctionTable table_f64{
    .element = ElementType::f64,
    .integer = ElementType::i64,
    .bits = ElementType::u64,
    .stored_digits = 52,
    .bias = 1023,
    .smallest_normal = 0x1p-1022,
    .sign_bit = 0x8000000000000000,
    .fraction_mask = 0xfffffffffffff,
    .one_bits = 0x3ff0000000000000,
    .high_half_mask = 0xfffffffff8000000,
    .split_factor = 134217729,
    .round_magic = 0x1.8p52,
    .round_magic_bits = 0x4338000000000000,
    .inverse_ln2 = 0x1.71547652b82fep+0,
    .ln2_high = 0x1.62e42fefa38p-1,
    .ln2_low = 0x1.ef35793c7673p-45,
    .exponential_least = -746,
    .exponential_greatest = 711,
    .exponential = exponential_f64,
    .exponential_of_two_least = -1076,
    .exponential_of_two_greatest = 1025,
    .exponential_of_two = exponential_of_two_f64,
    .minus_one_least = -50,
    .minus_one_greatest = 710,
    .halved_from = 512,
    .hyperbolic_sine = hyperbolic_sine_f64,
    .hyperbolic_tangent = hyperbolic_tangent_f64,
    .error_near = error_near_f64,
    .error_end = 6,
    .error_far = error_far_f64,
    .sqrt_half_bits = 0x3fe6a09e667f3bcd,
    .logarithm_by_quotient = true,
    .logarithm = logarithm_f64,
    .inverse_ln2_high = 0x1.7154768p+0,
    .inverse_ln2_low = -0x1.6a3e80f444178p-27,
    .two_over_pi = 0x1.45f306dc9c883p-1,
    .half_pi_parts = {0x1.921fb544p+0, 0x1.0b46p-34, 0x1.1a626331p-54, 0x1.1701b839a252p-88},
    .half_pi_parts_limit = 1647099,
    .two_over_pi_words = two_over_pi_words_f64,
    .sine = sine_f64,
    .cosine = cosine_f64,
    .tangent = tangent_f64,
    .arc_sine = arc_sine_f64,
    .arc_tangent = arc_tangent_f64,
    .half_pi = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54},
    .arc_of_half = {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
    .arc_of_three_halves = {0x1.f730bd281f69bp-1, 0x1.007887af0cbbdp-56},
    .power_greatest = 0x1p64,
    .third = {0x1.5555555555555p-2, 0x1.5555555555555p-56},
    .power = power_f64,
};

}  // namespace

const FunctionTable& function_table(ElementType element) {
  return element == ElementType::f64 ? table_f64 : table_f32;
}

}  // namespace halyard::ops::expansion
