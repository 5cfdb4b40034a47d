#pragma once

#include <farro/nn/functional.hpp>
#include <farro/nn/layers/activation.hpp>
#include <farro/nn/layers/conv.hpp>
#include <farro/nn/layers/dropout.hpp>
#include <farro/nn/layers/linear.hpp>
#include <farro/nn/layers/loss.hpp>
#include <farro/nn/layers/normalization.hpp>
#include <farro/nn/layers/pooling.hpp>
#include <farro/nn/module.hpp>
#include <farro/nn/module_dict.hpp>
#include <farro/nn/module_list.hpp>
#include <farro/nn/parameter_dict.hpp>
#include <farro/nn/parameter_list.hpp>
#include <farro/nn/sequential.hpp>
#include <farro/nn/summary.hpp>
